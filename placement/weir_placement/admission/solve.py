"""Solves SQPR's program within a limit: the new allocation, its bound, or what capacities are short of."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from time import monotonic
from typing import TYPE_CHECKING, Any

from weir_placement.admission.allocation import (
    Allocation,
    HostStream,
    MadeBy,
    Provider,
    ReceivedFrom,
    only_serving,
)
from weir_placement.admission.program import WORTH, AdmissionProgram, Limited
from weir_placement.model.plan import Shortage

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


@dataclass(frozen=True)
class SolverLimits:
    """What a decision may take.

    Attributes:
        wall: seconds of time for one query, building the model included (a batch of n has n times as many);
            with `inf` only the other limit holds, and equal inputs give equal plans on every machine.
        work: CP-SAT's deterministic time, about seconds.
        seed: of the solver.
        gap: it stops when the plan is within this of its bound, in the objective's unit (a query counts
            `Weights.admitted`).
    """

    wall: float = inf
    work: float = 10.0
    seed: int = 0
    gap: float = 0.0

    def __post_init__(self) -> None:
        for field in ("wall", "work"):
            if not getattr(self, field) > 0:
                raise ValueError(f"limits: {field} is {getattr(self, field)}; it must be more than 0 seconds")


@dataclass(frozen=True)
class Solution:
    """What the solver has.

    Attributes:
        allocation: the best plan; None where there is none or none was found in time.
        admitted: the new queries' streams in it.
        gap: between the plan and the solver's bound for the region, in the objective's unit; 0: optimal
            there.
        proven: no plan of the region is better.
    """

    allocation: Allocation | None
    admitted: frozenset[int]
    gap: float
    proven: bool


def solve(program: AdmissionProgram, limits: SolverLimits, deadline: float, hint: Allocation) -> Solution:
    """The best allocation of the program's region, with all that is fixed.

    Args:
        deadline: of `time.monotonic`.
        hint: an allocation to start from.
    """
    from ortools.sat.python import cp_model

    _start_from(program, hint)
    solver, status = _run(program, limits, deadline)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solution(None, frozenset(), inf, status == cp_model.INFEASIBLE)
    gap = (solver.objective_value - solver.best_objective_bound) / WORTH
    admitted = frozenset(stream for stream, admit in program.admit.items() if solver.value(admit))
    return Solution(_allocation(program, solver), admitted, gap, status == cp_model.OPTIMAL)


def shortages(program: AdmissionProgram, limits: SolverLimits, deadline: float) -> tuple[Shortage, ...]:
    """Of an elastic program: with so much more of these capacities its queries can be admitted; as small a
    part of each as possible in all, if the solver has the time. Empty where it finds nothing in time."""
    from ortools.sat.python import cp_model

    solver, status = _run(program, limits, deadline)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return ()
    return tuple(
        _shortage(program, limited, solver.value(excess) * unit)
        for limited, (excess, unit) in program.excess.items()
        if solver.value(excess) > 0
    )


def _shortage(program: AdmissionProgram, limited: Limited, missing: float) -> Shortage:
    kind, host, other = limited
    hosts = program.region.system.hosts
    unit = {"cpu": "CPU-us/s", "memory": "bytes"}.get(kind, "bytes/s")
    words = {"cpu": "CPU", "link": "bandwidth"}.get(kind, kind)
    names = (hosts[host].name, hosts[other].name) if kind == "link" else (hosts[host].name,)
    return Shortage(words, names, missing, program.free(limited), unit)


def _run(program: AdmissionProgram, limits: SolverLimits, deadline: float) -> tuple[cp_model.CpSolver, int]:
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = limits.seed
    solver.parameters.max_deterministic_time = limits.work
    solver.parameters.absolute_gap_limit = limits.gap * WORTH
    if isfinite(deadline):
        solver.parameters.max_time_in_seconds = max(deadline - monotonic(), 1e-3)
    return solver, int(solver.solve(program.model))


def _start_from(program: AdmissionProgram, hint: Allocation) -> None:
    """Hints every variable, so that CP-SAT has the plan at once. Without relays a flow comes from its
    maker."""
    providers: dict[HostStream, Provider] = {}
    for at, provider in hint.providers.items():
        while isinstance(provider, ReceivedFrom) and not program.relays:
            above = hint.providers.get((provider.sender, at[1]))
            if not isinstance(above, ReceivedFrom):
                break
            provider = above
        providers[at] = provider
    streams = program.region.related.streams
    values: dict[str, set[Any]] = {
        "run": {(h, p.operator) for (h, _), p in providers.items() if isinstance(p, MadeBy)},
        "flow": {
            (p.sender, h, s)
            for (h, s), p in providers.items()
            if s in streams and isinstance(p, ReceivedFrom)
        },
        "at": set(providers),
        "serve": {(host, query) for query, hosts in hint.served.items() for host in hosts},
        "admit": set(hint.served),
    }
    for kind, key, literal in program.literals():
        program.model.add_hint(literal, key in values[kind])


def _allocation(program: AdmissionProgram, solver: cp_model.CpSolver) -> Allocation:
    """What is fixed, what the solver chose, and nothing that serves nobody."""
    region = program.region
    providers: dict[HostStream, Provider] = dict(region.fixed.providers)
    for (host, operator), run in program.run.items():
        if solver.value(run):
            providers[host, region.system.operators[operator].output] = MadeBy(operator)
    for (sender, host, stream), flow in program.flow.items():
        if solver.value(flow):
            providers[host, stream] = ReceivedFrom(sender)
    served: dict[int, tuple[int, ...]] = dict(region.fixed.served)
    for (host, query), serve in program.serve.items():
        if solver.value(serve):
            served[query] = (*served.get(query, ()), host)
    chosen = Allocation(providers, served)
    return only_serving(region.system, chosen, chosen.served)
