"""A plan: rewritten operators, each on a node, and what the plan says about itself (model.md section 9).

`report.report` writes it as JSON (docs/cli.md, "The plan as JSON").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isclose
from typing import Any

from weir_placement.model.amounts import bits
from weir_placement.model.problem import Query
from weir_placement.model.space import Space


@dataclass(frozen=True)
class QueryPlan:
    """One query after rewriting, each operator with the node that runs it.

    `query.operators` are the rewritten ones; `nodes` maps operator id -> node name; `origins` maps
    source alias -> the node where the stream enters; `sink` is the delivery node ("" when anywhere).
    `shared` maps operator id -> a key: operators of several queries that have one key are one operator
    on one node, which runs and sends once for all of them; all that is below it is shared too.
    """

    query: Query
    nodes: Mapping[str, str]
    origins: Mapping[str, str]
    sink: str = ""
    shared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Shortage:
    """A capacity that is too small: with `missing` [unit] more there, and at the other places of a
    certificate, there is a plan. `nodes`: one, or the two ends of a link."""

    resource: str
    nodes: tuple[str, ...]
    missing: float
    capacity: float
    unit: str

    def __str__(self) -> str:
        place = f"link {' -> '.join(self.nodes)}" if len(self.nodes) > 1 else f"node {self.nodes[0]}"
        if self.unit == "bytes/s":
            return f"{self.resource} of {place}: {bits(self.missing)} short of {bits(self.capacity)}"
        return f"{self.resource} of {place}: {self.missing:.6g} {self.unit} short of {self.capacity:.6g}"


@dataclass(frozen=True)
class Rejection:
    """Why a query is not admitted: the constraint with its numbers.

    `short`: what would have to grow, as small a part of each capacity as possible in all.
    `late`: its own limit of latency is all that keeps it out.
    """

    query: str
    reason: str
    short: tuple[Shortage, ...] = ()
    late: bool = False


@dataclass(frozen=True)
class Plan:
    """Admitted queries placed together."""

    queries: tuple[QueryPlan, ...]
    rejected: tuple[Rejection, ...] = ()


@dataclass(frozen=True)
class PlanCost:
    """What a plan costs that has the headroom that is enough. `least_hosts`: no plan with it has fewer, as
    far as is known."""

    hosts: int
    network_usage: float  # [bytes] in transit
    fragments: int
    moves: int
    least_hosts: int = 0

    def below(self, other: PlanCost) -> bool:
        """Whether it is less, in the order of the fields, but for rounding."""
        if self.hosts != other.hosts:
            return self.hosts < other.hosts
        if not isclose(self.network_usage, other.network_usage, rel_tol=1e-9):
            return self.network_usage < other.network_usage
        return (self.fragments, self.moves) < (other.fragments, other.moves)


@dataclass(frozen=True)
class Result:
    """What a strategy returns: the plan and how good it is known to be.

    `cost`: of a plan with the headroom that is enough, where the problem says one; better is then what costs
    less, and `bound` is None.

    `proven`: no plan at all is better. `proven_within`: the plans of which none is better, where they are not
    all. `space`: the plans that its bound is for; None: all, and the report need not say so.
    """

    plan: Plan
    strategy: str
    objective: str
    value: float | None  # None: unbounded
    bound: float | None
    proven: bool
    evaluations: int
    seconds: float
    seed: int = 0
    proven_within: Space | None = None
    space: Space | None = None
    cost: PlanCost | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # strategy-specific, e.g. NPC probabilities

    @property
    def reached(self) -> bool:
        """Whether it is the best of all plans, or of those that the bound is for."""
        return self.proven or self.proven_within is not None
