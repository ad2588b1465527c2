"""A plan in force under the present spec of its query.

Where rows are delivered, how late they may be and where operators may run changes no row: an edit of these
makes no new plan. The stored plan is checked against them in every round, and moved when it violates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from weir_placement.model.cluster import Cluster
from weir_placement.model.operators import Operator
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Query

from weir_operator.controller.desired_state import DesiredQuery
from weir_operator.controller.record import Record


def as_specified(record: Record, desired: DesiredQuery, cluster: Cluster) -> QueryPlan | None:
    """The plan in force with the present delivery and latency limit, its operators bound to no node
    (`excluded_nodes` has those); as it is stored while an edit of the operators waits."""
    plan = record.plan
    if plan is None or record.source != desired.source:
        return plan
    model = desired.model
    query = replace(_unbound(plan.query), max_latency=model.max_latency, sharing_class=model.sharing_class)
    plan, deliver_to = replace(plan, query=query), desired.model.deliver_to
    present = [node for node in deliver_to if node in cluster.index]
    if deliver_to and not present:
        return plan
    sink = plan.sink if plan.sink in present else _nearest(plan, present, cluster)
    return replace(plan, query=replace(query, deliver_to=deliver_to), sink=sink)


def unconstrained(query: Query) -> Query:
    """A running query, for planning others beside it: it is pinned, and no list of nodes or limit that it
    violates may reject it, because its load would then not be counted."""
    return replace(_unbound(query), max_latency=inf, fixed_order=True)


def _unbound(query: Query) -> Query:
    """The query with operators that may run on any node."""
    operators = tuple(replace(op, nodes=()) if op.nodes else op for op in query.operators)
    return replace(query, operators=operators)


def excluded_nodes(record: Record, desired: DesiredQuery, cluster: Cluster) -> dict[str, frozenset[str]]:
    """Operator of the plan in force -> the nodes that are not on its list, if it has one."""
    plan = record.plan
    if plan is None or not desired.nodes or record.source != desired.source:
        return {}
    bounds = {op.id: _bounds(op, plan.nodes[op.id], desired.nodes) for op in plan.query.operators}
    return {op: frozenset(cluster.names) - nodes for op, nodes in bounds.items() if nodes}


def _bounds(op: Operator, node: str, lists: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """The nodes of an operator, which may be rewritten from several with different lists: it was planned by
    one of them, and stays within the lists that contain its present node. Empty: anywhere."""
    listed = [frozenset(lists.get(name, ())) for name in op.origin or (op.id,)]
    satisfied = [nodes for nodes in listed if not nodes or node in nodes]
    bounds = [nodes for nodes in satisfied or listed if nodes]
    if not bounds:
        return frozenset()
    return frozenset.intersection(*bounds) or frozenset.union(*bounds)


def _nearest(plan: QueryPlan, nodes: list[str], cluster: Cluster) -> str:
    """The node of these that the result reaches first; "" when there are none to deliver to."""
    last = plan.nodes[plan.query.operators[-1].id] if plan.query.operators else ""
    if last not in cluster.index:
        return nodes[0] if nodes else ""
    start, latency = cluster.index[last], cluster.network.link_latency
    return min(nodes, key=lambda n: (n != last, latency(start, cluster.index[n])), default="")
