"""What the fields of a search hold: masks of columns and sources, costs, the cluster, families of nodes."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence

from weir_placement.model.cluster import REFERENCE_CORE, Cluster
from weir_placement.model.problem import Problem, Query
from weir_placement.search.arrays import Arrays
from weir_placement.search.blocks import SearchBlock, alias_bits
from weir_placement.search.families import Family
from weir_placement.search.item import HUGE, Numbers, SearchItem, code_of, limited, numbers_of
from weir_placement.search.kernel import layout

MASK_BITS = 62
NAMING = (layout.FILTER, layout.PROJECT)
"""Kinds of items whose swaps depend on the columns that they name."""
MATRICES = 2_000
"""Nodes up to which every link's latency is known to the search also where none is limited: ties."""


def columns_of(queries: Sequence[Query], q: int) -> dict[str, int]:
    """A number for each column that the query's items of the kinds `NAMING` name."""
    names: dict[str, int] = {}
    for op in queries[q].operators:
        if code_of(op.kind).kind in NAMING:
            for name in (*op.columns, *op.new_columns):
                names.setdefault(name, len(names))
    return names


def fill_masks(
    arrays: Arrays,
    items: Sequence[SearchItem],
    queries: Sequence[Query],
    blocks: Sequence[Sequence[SearchBlock]],
) -> None:
    """Sources below and named by each item, its joins, its columns."""
    words = arrays.dims["words"]
    own, sets, joins, above, beneath = ([0] * len(items) for _ in range(5))
    columns = [0] * (len(items) * words)
    numbers = [columns_of(queries, q) for q in range(len(queries))]
    bits = [alias_bits(query, own, MASK_BITS) for query, own in zip(queries, blocks, strict=True)]
    joined = [0] * len(queries)
    for i, item in enumerate(items):
        bit = bits[item.query]
        for c in item.children:
            sets[i] |= sets[c]
            joins[i] |= joins[c]
        if item.kind == layout.SOURCE:
            sets[i] = bit.get(item.name, 0)
        if item.op is None:
            continue
        own[i] = sum(bit.get(a, 0) for a in item.op.aliases)
        if item.kind == layout.FILTER:
            above[i], beneath[i] = joins[i], sets[i]
        if item.kind == layout.JOIN and joined[item.query] < MASK_BITS:
            above[i] = 1 << joined[item.query]
            joined[item.query] += 1
            joins[i] |= above[i]
        if item.kind in NAMING:
            for name in item.op.new_columns or item.op.columns:
                k = numbers[item.query][name]
                columns[i * words + k // 63] |= 1 << (k % 63)
    for name, values in (("own", own), ("set", sets), ("joins", joins), ("above", above)):
        arrays.write(name, values)
    arrays.write("beneath", beneath)
    arrays.write("columns", columns)


def block_sizes(blocks: Sequence[Sequence[SearchBlock]]) -> dict[str, int]:
    """The dimensions of `fill_blocks`."""
    every = [len(block.aliases) for own in blocks for block in own]
    return {
        "blocks": max(1, len(every)),
        "block_aliases": max(1, sum(every)),
        "block_pairs": max(1, sum(n * n for n in every)),
        "factors": max(1, sum(1 << n for n in every)),
    }


def fill_blocks(arrays: Arrays, items: Sequence[SearchItem], blocks: Sequence[Sequence[SearchBlock]]) -> None:
    """The blocks' numbers one after the other, and which join is of which."""
    of_join: dict[tuple[int, str], int] = {}
    words: dict[str, list[int]] = defaultdict(list)
    numbers: dict[str, list[float]] = defaultdict(list)
    factors = 0
    for q, own in enumerate(blocks):
        bit = 0
        for block in own:
            of_join.update({(q, join): len(words["block_bit"]) for join in block.joins})
            words["block_bit"].append(bit)
            words["block_size"].append(len(block.aliases))
            words["block_alias"].append(len(words["near"]))
            words["block_pair"].append(len(numbers["half_"]))
            words["block_factor"].append(factors)
            words["near"] += block.near
            words["equal"] += block.equal
            numbers["half_"] += map(limited, block.half)
            numbers["reach_"] += map(limited, block.reach)
            for k, factor in enumerate(block.factors):
                arrays.write("factor_", [*map(limited, factor)], start=k * arrays.dims["factors"] + factors)
            factors += len(block.factors[0])
            bit += len(block.aliases)
    for name, integers in words.items():
        arrays.write(name, integers)
    for name, reals in numbers.items():
        arrays.write(name, reals)
    arrays.write("block", [of_join.get((item.query, item.name), -1) for item in items])


def fill_cluster(arrays: Arrays, cluster: Cluster, candidates: Sequence[Sequence[int]]) -> None:
    """Capacities, links, and which nodes can be exchanged."""
    nodes = cluster.nodes
    plain = not arrays.dims["flags"] & (layout.NETWORK | layout.LATENCY)
    arrays.write("cpu_", [limited(n.cpu_capacity) for n in nodes])
    arrays.write("memory_of_", [limited(n.memory) for n in nodes])
    arrays.write("egress_", [limited(n.egress) for n in nodes])
    arrays.write("ingress_", [limited(n.ingress) for n in nodes])
    arrays.write("core_", [REFERENCE_CORE * n.speed for n in nodes])
    if not plain or len(nodes) <= MATRICES:
        arrays.write("latency_", array("d", cluster.network.latency_matrix.tobytes()))
        bandwidth = cluster.network.bandwidth_matrix.clip(max=HUGE)
        arrays.write("bandwidth_", array("d", bandwidth.tobytes()))
    kinds: dict[object, int] = {}
    served = defaultdict(list)
    for number, nodes_of in enumerate(candidates):
        for n in nodes_of:
            served[n].append(number)
    arrays.write(
        "twin",
        [
            kinds.setdefault((n.cpu_capacity, n.memory, n.speed, tuple(served[k])) if plain else k, k)
            for k, n in enumerate(nodes)
        ],
    )


def fill_enough(arrays: Arrays, problem: Problem, candidates: Sequence[Sequence[int]]) -> None:
    """The headroom that is enough, and which nodes no plan's key tells apart: of one kind, at one place in
    the network, for the same items, none of them with something of the plan in force."""
    arrays.write("enough_", [HUGE if problem.enough is None else limited(problem.enough)])
    if problem.enough is None:
        return
    nodes, groups = problem.cluster.nodes, problem.cluster.network.group.tolist()
    in_force = {placed.node for placed in problem.in_force}
    lists: dict[int, list[int]] = defaultdict(list)
    for number, nodes_of in enumerate(candidates):
        for n in nodes_of:
            lists[n].append(number)
    kinds: dict[object, int] = {}
    for k, node in enumerate(nodes):
        capacities = (node.cpu_capacity, node.speed, node.memory, node.egress, node.ingress)
        kind = node.name if node.name in in_force else (capacities, groups[k], tuple(lists[k]))
        arrays.write("alike", [kinds.setdefault(kind, k)], start=k)


def fill_families(
    arrays: Arrays,
    cluster: Cluster,
    items: Sequence[SearchItem],
    candidates: Sequence[Sequence[int]],
    families: Sequence[Family],
) -> None:
    """The largest capacity that each item may have, at all and outside of each family."""
    capacity = [n.cpu_capacity for n in cluster.nodes]
    number = {id(nodes): k for k, nodes in enumerate(candidates)}
    kind = [number[id(item.candidates)] for item in items]
    outside: list[float] = []
    for family in families:
        largest = [
            limited(max((capacity[n] for n in nodes if n not in family.nodes), default=-1.0))
            for nodes in candidates
        ]
        outside += [largest[k] for k in kind]
    largest = [limited(max((capacity[n] for n in nodes), default=0.0)) for nodes in candidates]
    arrays.write("largest_", [largest[k] for k in kind])
    arrays.write("family_outside_", outside)
    arrays.write("family_capacity_", [limited(f.capacity) for f in families])


def is_free(query: Query, item: SearchItem, reads: int) -> int:
    """Whether an operator may change places: it must have one reader."""
    return int(item.op is not None and not query.fixed_order and reads == 1 and item.op.movable)


def fill_costs(
    arrays: Arrays,
    problem: Problem,
    items: Sequence[SearchItem],
    queries: Sequence[Query],
    scenarios: Sequence[tuple[int, float]],
) -> None:
    """Costs of the items, rates of the sources, limits of the queries."""
    write = arrays.write
    rows = [numbers_of(item) for item in items]
    for name, column in zip(Numbers._fields, zip(*rows, strict=True), strict=True):
        if name != "selectivity":
            write(f"{name}_", column if max(column) < HUGE else [limited(v) for v in column])
    write("selectivity_", [item.selectivities[k] for k in range(arrays.dims["points"]) for item in items])
    write(
        "source_rate_",
        [
            item.flows[k].rate(1.0) if item.kind == layout.SOURCE else 0.0
            for k, _ in scenarios
            for item in items
        ],
    )
    write("max_latency_", [limited(q.max_latency) for q in queries])
    write("processes_", [float(queries[item.query].processes) for item in items])
    o = problem.overheads
    classes = class_numbers(queries)
    of_query = [classes.get(query.sharing_class, -1) for query in queries]
    write("sharing", [of_query[item.query] if item.op else -1 for item in items])
    standing = [o.input_cpu, o.state_cpu, o.host_cpu, o.host_memory]
    write("overheads_", [o.process_cpu, o.fragment_memory, o.exchange_cost, o.exchange_latency, *standing])


def class_numbers(queries: Sequence[Query]) -> dict[str, int]:
    """A number for each sharing class."""
    names = dict.fromkeys(query.sharing_class for query in queries if query.sharing_class)
    return {name: number for number, name in enumerate(names)}
