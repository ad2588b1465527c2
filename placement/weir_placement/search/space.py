"""What a search may choose: where each stream enters, where each operator runs, where the result goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from weir_placement.cost.allowed import allowed_nodes, no_place
from weir_placement.model.plan import Plan, QueryPlan, Rejection
from weir_placement.model.problem import Problem, Query


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to place: an alias' origin, an operator or a sink, on one of `nodes` (names)."""

    query: int
    kind: str  # "origin", "operator" or "sink"
    name: str  # alias, operator id, ""
    nodes: tuple[str, ...]


@dataclass
class Space:
    """The physical choices of some queries as they are written (or rewritten)."""

    problem: Problem
    queries: Sequence[Query]
    choices: list[Choice] = field(default_factory=list)

    def __post_init__(self) -> None:
        for q, query in enumerate(self.queries):
            for alias, stream in query.sources.items():
                self.choices.append(Choice(q, "origin", alias, self.problem.streams[stream].origins))
            for op in query.operators:
                self.choices.append(Choice(q, "operator", op.id, allowed_nodes(self.problem, query, op)))
            if query.deliver_to:
                self.choices.append(Choice(q, "sink", "", query.deliver_to))

    def plan(self, assignment: Sequence[str], rejected: Sequence[Rejection] = ()) -> Plan:
        """The plan with `assignment[i]` (a node name) for `choices[i]`."""
        nodes: list[dict[str, str]] = [{} for _ in self.queries]
        origins: list[dict[str, str]] = [{} for _ in self.queries]
        sinks = [""] * len(self.queries)
        for choice, node in zip(self.choices, assignment, strict=True):
            if choice.kind == "operator":
                nodes[choice.query][choice.name] = node
            elif choice.kind == "origin":
                origins[choice.query][choice.name] = node
            else:
                sinks[choice.query] = node
        placed = (QueryPlan(query, nodes[q], origins[q], sinks[q]) for q, query in enumerate(self.queries))
        return Plan(tuple(placed), tuple(rejected))


def impossible(problem: Problem, query: Query) -> str:
    """Why a query cannot be placed at all, whatever else runs; "" when it can be."""
    for alias, stream in query.sources.items():
        known = [n for n in problem.streams[stream].origins if n in problem.cluster.index]
        if not known:
            return f"stream {stream} (as {alias}) enters at no node of the cluster"
    for op in query.operators:
        if not allowed_nodes(problem, query, op):
            return no_place(problem, query, op)
    if query.deliver_to and not any(n in problem.cluster.index for n in query.deliver_to):
        return f"none of the nodes it is to be delivered to exists: {', '.join(query.deliver_to)}"
    return ""
