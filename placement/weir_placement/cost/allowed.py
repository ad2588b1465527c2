"""Where an operator may run."""

from __future__ import annotations

from weir_placement.model.operators import Operator
from weir_placement.model.problem import Problem, Query


def allowed_nodes(problem: Problem, query: Query, op: Operator) -> tuple[str, ...]:
    """Node names, in the cluster's order: its pin, else its own list (or all) that take new work, less
    the forbidden ones. A cordoned node may keep what it runs."""
    key = f"{query.name}/{op.id}"
    pinned = problem.pinned.get(key)
    banned = problem.forbidden.get(key, frozenset())
    if pinned is None and not op.nodes and not banned and not problem.cluster.closed:
        return problem.cluster.names
    keeps = {p.node for p in problem.in_force if p.query == query.name and p.operator == op.id}
    return tuple(
        node.name
        for node in problem.cluster.nodes
        if (pinned is None or node.name == pinned)
        and (not op.nodes or node.name in op.nodes)
        and node.name not in banned
        and (node.schedulable or node.name in keeps)
    )


def why_not(problem: Problem, query: Query, op: Operator, node: str) -> str:
    """Why `op` may not run on `node`."""
    key = f"{query.name}/{op.id}"
    pinned = problem.pinned.get(key)
    if node not in problem.cluster.index:
        return f"operator {key}: there is no node {node}"
    if pinned is not None and pinned != node:
        return f"operator {key} is pinned to node {pinned}, not {node}"
    if op.nodes and node not in op.nodes:
        return f"operator {key} may run on {', '.join(op.nodes)} only, not on {node}"
    if node in problem.forbidden.get(key, frozenset()):
        return f"operator {key} is forbidden on node {node}"
    why = "cordoned, not ready, or not selected by the policy"
    return f"operator {key}: node {node} takes no new work ({why})"


def no_place(problem: Problem, query: Query, op: Operator) -> str:
    """Why no node at all is left for `op`."""
    candidates = op.nodes or tuple(node.name for node in problem.cluster.nodes)
    pinned = problem.pinned.get(f"{query.name}/{op.id}")
    nodes = (pinned,) if pinned else candidates
    name = f"operator {query.name}/{op.id}"
    reasons = (why_not(problem, query, op, node).removeprefix(name).lstrip(": ") for node in nodes[:5])
    return f"{name} has no node left: {'; '.join(reasons)}"


def impossible(problem: Problem, query: Query) -> str:
    """Why a query cannot be placed at all, whatever else runs; "" when it can be."""
    for alias, stream in query.sources.items():
        present = [n for n in problem.streams[stream].origins if n in problem.cluster.index]
        if not present:
            return f"stream {stream} (as {alias}) enters at no node of the cluster"
    for op in query.operators:
        if not allowed_nodes(problem, query, op):
            return no_place(problem, query, op)
    if query.deliver_to and not any(n in problem.cluster.index for n in query.deliver_to):
        return f"none of the nodes it should be delivered to exists: {', '.join(query.deliver_to)}"
    return ""
