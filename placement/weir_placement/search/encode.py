"""A problem as the two arrays of `kernel.layout`, and a configuration in them as a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from weir_placement.cost.allowed import allowed_nodes
from weir_placement.cost.flows import flows_of, scaled
from weir_placement.cost.load import Load
from weir_placement.cost.raised import at_point
from weir_placement.model.plan import Plan, QueryPlan, Rejection
from weir_placement.model.problem import Problem, Query
from weir_placement.search.arrays import Arrays
from weir_placement.search.blocks import blocks_of
from weir_placement.search.families import families_of
from weir_placement.search.fields import (
    block_sizes,
    class_numbers,
    columns_of,
    fill_blocks,
    fill_cluster,
    fill_costs,
    fill_enough,
    fill_families,
    fill_masks,
    is_free,
)
from weir_placement.search.item import HUGE, SearchItem, code_of, numbers_of, selectivity_of
from weir_placement.search.kernel import layout

VISITED_SIZE = 1 << 14
"""Words of the table of logical plans; half of them may be used."""
NO_TABLE = 64
"""Words of it for a search that neither looks at each logical plan nor keeps a list of tabu moves: that list
grows with operators times nodes."""
SET_LIMIT = 1 << 20
"""Most connected sets of streams, and most sets at all, that the upper bound looks at."""


class Encoding(Arrays):
    """The arrays of a search over some queries of a problem; `run` calls the compiled code on them."""

    def __init__(self, problem: Problem, queries: Sequence[Query], *, seed: int, visited: int = VISITED_SIZE):
        self.problem, self.queries = problem, list(queries)
        self.enough = inf if problem.enough is None else problem.enough
        self.deadline = inf  # of the whole search: where a part of it is to `stop_at` may be before
        self.items: list[SearchItem] = []
        self.sinks: list[int] = []
        self.index: list[dict[str, int]] = []
        self.lists: dict[tuple[str, ...], list[int]] = {}
        points = [scaled(point) for point in problem.points()]
        self.blocks = [blocks_of(problem, query) for query in self.queries]
        for q, query in enumerate(self.queries):
            self._add_query(q, query, points)
        self.scenarios = self._scenarios(len(points))
        self._fill(seed, len(points), visited)

    def _add_query(self, q: int, query: Query, points: list[dict[str, Load]]) -> None:
        numbers: dict[str, int] = {}
        at_points = [at_point(self.problem, query, k) for k in range(len(points))]
        flows = [
            flows_of(each, self.problem.streams, rates) for each, rates in zip(at_points, points, strict=True)
        ]
        ones = [1.0] * len(points)
        for alias, stream in query.sources.items():
            numbers[alias] = len(self.items)
            origins = self._candidates(tuple(self.problem.streams[stream].origins))
            self.items.append(
                SearchItem(q, layout.SOURCE, alias, [], origins, None, [f[alias] for f in flows], ones)
            )
        for op, *at_each in zip(query.operators, *(each.operators for each in at_points), strict=True):
            candidates = self._candidates(allowed_nodes(self.problem, query, op))
            numbers[op.id] = len(self.items)
            children = [numbers[name] for name in op.inputs]
            item = SearchItem(
                q, code_of(op.kind).kind, op.id, children, candidates, op, [f[op.id] for f in flows]
            )
            item.selectivities = [*map(selectivity_of, at_each)]
            self.items.append(item)
        last = numbers[query.operators[-1].id] if query.operators else numbers[next(iter(query.sources))]
        self.sinks.append(len(self.items))
        delivery = self._candidates(tuple(query.deliver_to))
        self.items.append(SearchItem(q, layout.SINK, "", [last], delivery, selectivities=ones))
        self.index.append(numbers)

    def _candidates(self, names: tuple[str, ...]) -> list[int]:
        """Numbers of the nodes that the cluster has; one list for all items with the same names."""
        candidates = self.lists.get(names)
        if candidates is None:
            nodes = self.problem.cluster.index
            candidates = self.lists[names] = [nodes[n] for n in names if n in nodes]
        return candidates

    def _scenarios(self, points: int) -> list[tuple[int, float]]:
        """(point, upper x) of each piece: an aggregate's input does not depend on the plan, so neither
        does the x where it reaches its limit."""
        scenarios = []
        for k in range(points):
            starts = {s for item in self.items if item.flows for s in item.flows[k].rate.starts if s > 0}
            scenarios += [(k, until) for until in (*sorted(starts), HUGE)]
        return scenarios

    def _capped(self, item: SearchItem, k: int, until: float) -> bool:
        """Whether an aggregate is at its limit on the piece that ends at `until`."""
        if item.kind != layout.AGGREGATE:
            return False
        x = until / 2 if until >= HUGE else until * (1 - 1e-9)
        if until >= HUGE:
            x = 2 * max(item.flows[k].rate.starts) + 1.0
            below = [u for p, u in self.scenarios if p == k and u < HUGE]
            x = max([x, *(2 * u for u in below)])
        child = self.items[item.children[0]].flows[k].rate
        numbers = numbers_of(item)
        return child(x) * numbers.selectivity >= numbers.limit

    def _fill(self, seed: int, points: int, visited: int) -> None:
        problem, items = self.problem, self.items
        own = [each.blocks for each in self.blocks]
        n_items, n_nodes = len(items), len(problem.cluster)
        reads = [0] * n_items
        for item in items:
            for c in item.children:
                reads[c] += 1
        groups: dict[object, list[int]] = defaultdict(list)
        for i, item in enumerate(items):
            stream = self.queries[item.query].sources[item.name] if item.kind == layout.SOURCE else i
            groups[stream].append(i)
        degree = 1 + max(
            (len(piece) - 1 for item in items for f in item.flows for piece in f.rate.pieces), default=1
        )
        words = max(
            1, -(-max((len(columns_of(self.queries, q)) for q in range(len(self.queries))), default=1) // 63)
        )
        families = families_of(
            problem.cluster,
            list({id(item.candidates): item.candidates for item in items if item.op}.values()),
        )
        dims = {
            "items": n_items,
            "nodes": n_nodes,
            "scenarios": len(self.scenarios),
            "degree": max(degree, 2),
            "uses": max([1, *reads]),
            "queries": len(self.queries),
            "words": words,
            "points": points,
            "flags": self._flags(),
            "slots": sum(len(item.children) for item in items),
            "choices": sum(map(len, self.lists.values())),
            "groups": len(groups),
            "tabu_size": n_items * (n_nodes + n_items) if visited > NO_TABLE else 0,
            "visited_size": visited,
            "path_size": 2 * visited + 16,
            "families": len(families),
            "set_limit": min(SET_LIMIT, 2 * sum(1 << min(len(q.sources), 13) for q in self.queries)),
            "queued": n_nodes if self._flags() & layout.LATENCY else 0,
            "classes": max(1, len(class_numbers(self.queries))),
            **block_sizes(own),
        }
        self.reads = reads
        super().__init__(dims)
        self._fill_structure(reads, list(groups.values()))
        fill_masks(self, items, self.queries, own)
        fill_blocks(self, items, own)
        fill_costs(self, problem, items, self.queries, self.scenarios)
        fill_cluster(self, problem.cluster, list(self.lists.values()))
        fill_enough(self, problem, list(self.lists.values()))
        fill_families(self, problem.cluster, items, list(self.lists.values()), families)
        self.write("random", [seed * 2654435761 % (1 << 62) + 1, 0])

    def _fill_structure(self, reads: list[int], groups: list[list[int]]) -> None:
        items = self.items
        force = {(p.query, p.operator): p.node for p in self.problem.in_force}
        nodes = self.problem.cluster.index
        first, group_first = [0], [0]
        for item in items:
            first.append(first[-1] + len(item.children))
        for group in groups:
            group_first.append(group_first[-1] + len(group))
        self.write("kind", [item.kind for item in items])
        self.write("first", first)
        self.write("child", [c for item in items for c in item.children])
        begins: dict[int, int] = {}
        choice: list[int] = []
        for nodes_of in self.lists.values():
            begins[id(nodes_of)] = len(choice)
            choice += nodes_of
        choice_first = [begins[id(item.candidates)] for item in items]
        self.write("choice_first", choice_first)
        self.write(
            "choice_last", [b + len(item.candidates) for b, item in zip(choice_first, items, strict=True)]
        )
        self.write("choice", choice)
        self.write("group_first", group_first)
        self.write("group_item", [i for group in groups for i in group])
        group_of = {i: g for g, group in enumerate(groups) for i in group}
        self.write("group", [group_of[i] for i in range(len(items))])
        self.write("query", [item.query for item in items])
        self.write("sink", self.sinks)
        self.write("node", [item.candidates[0] if item.candidates else -1 for item in items])
        query_of = [self.queries[item.query] for item in items]
        present = [force.get((q.name, item.name), "") for q, item in zip(query_of, items, strict=True)]
        self.write("force", [nodes.get(node, -2) for node in present])
        self.write("free", [is_free(*arguments) for arguments in zip(query_of, items, reads, strict=True)])
        self.write("point", [k for k, _ in self.scenarios])
        self.write(
            "capped",
            [int(self._capped(item, k, until)) for k, until in self.scenarios for item in items],
        )
        self.write("until_", [until for _, until in self.scenarios])

    def _flags(self) -> int:
        cluster, o = self.problem.cluster, self.problem.overheads
        network = any(n.egress < inf or n.ingress < inf for n in cluster.nodes)
        network = network or bool((cluster.network.bandwidth < HUGE).any())
        standing = o.process_cpu or o.input_cpu or o.state_cpu
        overhead = standing or o.fragment_memory or o.exchange_cost or o.host_cpu or o.host_memory
        late = any(q.max_latency < inf for q in self.queries)
        return (
            (layout.NETWORK if network else 0)
            | (layout.OVERHEAD if overhead else 0)
            | (layout.LATENCY if late else 0)
        )

    def reset(self) -> None:
        """The plan as written, every item on its first candidate."""
        self.write("child", [c for item in self.items for c in item.children])
        self.write("node", [item.candidates[0] if item.candidates else -1 for item in self.items])

    def configuration(self) -> tuple[list[int], list[int]]:
        """The present configuration, for `put`."""
        return self.read("node"), self.read("child")

    def best(self) -> tuple[list[int], list[int]]:
        """The configuration that the last search saved, for `put`."""
        return self.read("best_node"), self.read("best_child")

    def put(self, configuration: tuple[list[int], list[int]]) -> None:
        """Makes a configuration the present one, and the best one."""
        for suffix in ("", "best_"):
            self.write(f"{suffix}node", configuration[0])
            self.write(f"{suffix}child", configuration[1])

    def recall(self) -> None:
        """Makes the best configuration the present one."""
        self.write("node", self.read("best_node"))
        self.write("child", self.read("best_child"))

    def plan(self, rejected: Sequence[Rejection] = ()) -> Plan:
        """The present configuration as a plan."""
        node, child, first = self.read("node"), self.read("child"), self.read("first")
        names = [n.name for n in self.problem.cluster.nodes]
        placed = []
        for q, query in enumerate(self.queries):
            order: list[int] = []
            self._post_order(self.sinks[q], child, first, order, set())
            inputs = {i: tuple(self.items[c].name for c in child[first[i] : first[i + 1]]) for i in order}
            operators = tuple(op.reading(*inputs[i]) for i in order if (op := self.items[i].op) is not None)
            nodes = {self.items[i].name: names[node[i]] for i in order}
            origins = {a: names[node[self.index[q][a]]] for a in query.sources}
            sink = names[node[self.sinks[q]]] if node[self.sinks[q]] >= 0 else ""
            plan = replace(query, operators=operators)
            if self.blocks[q].blocks:
                plan, nodes = self._rejoined(query, plan, nodes)
            placed.append(QueryPlan(plan, nodes, origins, sink))
        return Plan(tuple(placed), tuple(rejected))

    def _rejoined(self, written: Query, plan: Query, nodes: dict[str, str]) -> tuple[Query, dict[str, str]]:
        """The plan with the conditions that its joins have in their order."""
        from weir_placement.rewrite.rewriter import Rewriter  # imports the parser

        plan, names = Rewriter(written, self.problem.streams).rejoined(plan)
        return plan, {names.get(name, name): node for name, node in nodes.items()}

    def _post_order(
        self, i: int, child: list[int], first: list[int], order: list[int], visited: set[int]
    ) -> None:
        if i in visited:
            return
        visited.add(i)
        for c in child[first[i] : first[i + 1]]:
            self._post_order(c, child, first, order, visited)
        if self.items[i].op is not None:
            order.append(i)
