"""A lower bound on the hosts of plans that have a headroom.

The operators of a sharing class need the CPU of some nodes: were they allowed on all nodes, k nodes could do
no more than the k largest. Where the bounds of `search.bounds` say that these do not carry the headroom, k
hosts are too few. A query whose processes are hosts of their own has a fragment on each node that it uses,
and one for each operator that ends a fragment wherever it runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from weir_placement.cost.flows import fragment_ends, readers
from weir_placement.model.cluster import Cluster, Network
from weir_placement.model.plan import QueryPlan, Result
from weir_placement.model.problem import Problem, Query
from weir_placement.proof import with_proof
from weir_placement.search.bounds import cannot_carry
from weir_placement.search.economy import FEW
from weir_placement.search.encode import NO_TABLE, Encoding
from weir_placement.search.item import EQUAL
from weir_placement.search.kernel.entry_codes import PACKED, PLAIN


def with_least_hosts(problem: Problem, result: Result, deadline: float) -> Result:
    """The result, whose plan has enough headroom, with the bound on its hosts: proven where it has no more
    and no network usage, as nothing is cheaper then."""
    cost = result.cost
    if cost is None or problem.enough is None:
        return result
    least = cost.hosts if result.reached else _least(problem, result, problem.enough, deadline)
    cost = replace(cost, least_hosts=least)
    nothing_less = cost.hosts == least and cost.network_usage == 0.0
    return (
        replace(result, cost=cost) if result.reached else with_proof(replace(result, cost=cost), nothing_less)
    )


def _least(problem: Problem, result: Result, enough: float, deadline: float) -> int:
    placed = {each.query.name: each for each in result.plan.queries}
    classes: dict[str, list[Query]] = defaultdict(list)
    hosts = 0
    for query in problem.queries:
        if query.name not in placed or not query.operators:
            continue
        if query.sharing_class:
            classes[query.sharing_class].append(query)
        else:
            hosts += query.processes * _fragments(problem, placed[query.name], query, enough, deadline)
    for queries in classes.values():
        used = {node for query in queries for node in placed[query.name].nodes.values()}
        hosts += _nodes(problem, queries, enough, len(used), deadline)
    return hosts


def _fragments(problem: Problem, placed: QueryPlan, query: Query, enough: float, deadline: float) -> int:
    several = {name for name, consumers in readers(query).items() if len(consumers) > 1}
    ends = len({op.id for op in query.operators if op.id in several} | {query.operators[-1].id})
    if len(fragment_ends(placed)) == ends:
        return ends
    return max(ends, _nodes(problem, [query], enough, len(set(placed.nodes.values())), deadline))


def _nodes(problem: Problem, queries: Sequence[Query], enough: float, used: int, deadline: float) -> int:
    """The fewest nodes that may carry some queries alone; at most `used`, which some plan uses."""
    bound = {op.nodes[0] for query in queries for op in query.operators if len(op.nodes) == 1}
    least, most = max(1, min(len(bound), used)), used
    while least < most and perf_counter() < deadline:
        middle = (least + most - 1) // 2
        if _too_few(problem, queries, middle, enough):
            least = middle + 1
        else:
            most = middle
    return least


def _too_few(problem: Problem, queries: Sequence[Query], count: int, enough: float) -> bool:
    """Whether the `count` largest nodes would not carry the queries, all else left out."""
    largest = sorted(problem.cluster.nodes, key=lambda node: -node.cpu_capacity)[:count]
    nodes = tuple(replace(node, schedulable=True) for node in largest)
    first = nodes[0].name
    anywhere = [
        replace(q, deliver_to=(), operators=tuple(replace(op, nodes=()) for op in q.operators))
        for q in queries
    ]
    relaxed = replace(
        problem,
        cluster=Cluster(nodes, Network.uniform(count)),
        streams={name: replace(stream, origins=(first,)) for name, stream in problem.streams.items()},
        queries=tuple(anywhere),
        pinned={},
        forbidden={},
        in_force=(),
        enough=None,
    )
    encoding = Encoding(relaxed, anywhere, seed=0, visited=NO_TABLE)
    return cannot_carry(encoding, enough * (1 - 2 * EQUAL), PLAIN if len(encoding.items) > FEW else PACKED)
