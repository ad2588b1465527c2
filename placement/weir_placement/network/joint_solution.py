"""Solves a joint program: plans of all its queries, the proof that there are none, or what is short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from weir_placement.cost.latency import longest_path
from weir_placement.model.plan import Shortage
from weir_placement.network.dynamic_program import Step
from weir_placement.network.joint_program import SCALE, Capacity, JointProgram, Run
from weir_placement.network.ledger import TOLERANCE
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import SinglePlacement, query_plan, sinks_of, translate

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


@dataclass(frozen=True)
class JointOutcome:
    """Placements of all tasks in their order; none where `impossible` (it is proved that there are none), or
    where the time did not suffice. `bound` [bytes]: no plan of theirs adds less to the ledger's usage."""

    placements: tuple[SinglePlacement, ...] | None
    impossible: bool
    bound: float


def solve_jointly(program: JointProgram, seconds: float, seed: int, wall: float = inf) -> JointOutcome:
    """The cheapest plans of all tasks within `seconds` of CP-SAT's deterministic work and `wall` of time."""
    from ortools.sat.python import cp_model

    program.hint()
    solver, status = _solve(program, seconds, seed, wall)
    if status == cp_model.INFEASIBLE:
        return JointOutcome(None, program.complete, inf if program.complete else 0.0)
    bound = max(solver.best_objective_bound * program.unit, 0.0) if program.complete else 0.0
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return JointOutcome(None, False, bound)
    return JointOutcome(_placements(program, solver), False, bound)


def has_none(program: JointProgram, seconds: float, seed: int, wall: float = inf) -> bool:
    """Whether it is proved, within the same limits, that the program has no plan."""
    from ortools.sat.python import cp_model

    return _solve(program, seconds, seed, wall)[1] == cp_model.INFEASIBLE


def shortages(program: JointProgram, seconds: float, seed: int, wall: float = inf) -> tuple[Shortage, ...]:
    """Of an elastic program: what capacities must grow by, as small a part of each as possible in all; empty
    where the time did not suffice."""
    from ortools.sat.python import cp_model

    solver, status = _solve(program, seconds, seed, wall)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return ()
    return tuple(
        _shortage(program, capacity, solver.value(excess) * unit / SCALE)
        for capacity, (excess, unit) in program.excess.items()
        if solver.value(excess) > 0
    )


def _shortage(program: JointProgram, capacity: Capacity, missing: float) -> Shortage:
    kind, a, b = capacity
    nodes = program.ledger.problem.cluster.nodes
    ends = (a, b) if kind == "link" else (a,)
    unit = {"cpu": "CPU-us/s", "memory": "bytes"}.get(kind, "bytes/s")
    words = {"cpu": "CPU", "link": "bandwidth"}.get(kind, kind)
    return Shortage(words, tuple(nodes[n].name for n in ends), missing, program.free(capacity), unit)


def _solve(program: JointProgram, seconds: float, seed: int, wall: float) -> tuple[cp_model.CpSolver, int]:
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = max(seconds, 1e-3)
    solver.parameters.max_time_in_seconds = max(wall, 1e-3)
    return solver, int(solver.solve(program.model))


def _placements(program: JointProgram, solver: cp_model.CpSolver) -> tuple[SinglePlacement, ...] | None:
    """The plans of a solution, None if rounding let through what does not fit."""
    chosen = {key: bool(solver.value(literal)) for key, literal in program.literals()}
    placements, ledger = [], program.ledger
    for task in program.tasks:
        placed = _Solution(program, task.space, chosen).placement()
        if placed is None or next(ledger.overloads(placed.space, placed.root, placed.sink), None):
            break
        if task.space.query.max_latency < inf:
            path = longest_path(ledger.problem, query_plan(ledger.problem, placed))
            if path > task.space.query.max_latency * (1 + TOLERANCE):
                break
        ledger.add(placed.space, placed.root, placed.sink)
        placements.append(placed)
    for placed in placements:
        ledger.remove(placed.space, placed.root, placed.sink)
    return tuple(placements) if len(placements) == len(program.tasks) else None


@dataclass(frozen=True)
class _Solution:
    """What runs and flows, as one query sees it."""

    program: JointProgram
    space: PlanSpace
    chosen: Mapping[Any, bool]

    def placement(self) -> SinglePlacement | None:
        """The query's plan tree; None where it would run what it has no way for."""
        last = self.space.ways.streams - 1
        problem = self.program.ledger.problem
        sinks = [int(s) for s in sinks_of(problem, self.space)]
        places = [(self._source(last, s), s) for s in sinks] or [(n, -1) for n in self._made_at(last)]
        whole = [(n, s) for n, s in places if n is not None]
        if not whole:
            return None
        node, sink = min(
            whole, key=lambda at: 0.0 if at[1] < 0 else problem.cluster.network.link_latency(*at)
        )
        root = self._tree(last, node)
        return None if root is None else SinglePlacement(self.space, root, sink, 0.0)

    def _made_at(self, t: int) -> list[int]:
        signature = self.space.signatures[t]
        makers = self.program.makers.get(signature, {})
        runs = {node for node, runs in makers.items() if any(self.chosen[run] for run in runs)}
        return sorted(runs | self.program.present[signature])

    def _source(self, t: int, node: int) -> int | None:
        """Where the stream comes from that is at a node."""
        at = self._made_at(t)
        if node in at:
            return node
        signature = self.space.signatures[t]
        latency = self.program.ledger.network.link_latency
        return min(
            (m for m in at if self.chosen.get((signature, m, node))),
            key=lambda m: latency(m, node),
            default=None,
        )

    def _tree(self, t: int, node: int) -> Step | None:
        space, signature = self.space, self.space.signatures[t]
        if node in self.program.present[signature]:
            if t in space.aliases:
                return Step(t, node, -1)
            return translate(space, t, self.program.ledger.advertised[signature][node])
        for way in range(int(space.ways.start[t]), int(space.ways.start[t + 1])):
            inputs = [int(i) for i in space.ways.inputs_of(way)]
            run = Run(signature, tuple(sorted(space.signatures[i] for i in inputs)), node)
            if not self.chosen.get(run):
                continue
            sources = [self._source(i, node) for i in inputs]
            below = [self._tree(i, s) for i, s in zip(inputs, sources, strict=True) if s is not None]
            trees = tuple(step for step in below if step is not None)
            if len(trees) == len(inputs):
                return Step(t, node, way, trees)
        return None
