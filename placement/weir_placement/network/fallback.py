"""Before a query is refused: every plan of it, then every plan of it together with those that are placed.

Planning one query after the other, by a program that keeps operators off full nodes one at a time, may miss
a plan that fits. What is refused here has a proof, with the capacities that are short and by how much, or
says that no plan was found in the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from weir_placement.cost.evaluation import evaluate
from weir_placement.model.amounts import enough
from weir_placement.model.plan import Plan, Rejection, Shortage
from weir_placement.model.problem import Problem
from weir_placement.network.joint_program import JointProgram, Task
from weir_placement.network.joint_solution import JointOutcome, shortages, solve_jointly
from weir_placement.network.ledger import Ledger, steps
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import Refusal, SinglePlacement, query_plan
from weir_placement.network.sites import all_sites, named_nodes
from weir_placement.request import not_found

MOST = 60_000
"""Variables of a program; with more, fewer nodes and queries are looked at, and nothing is proved."""
WORK = 1.0
"""Of CP-SAT's deterministic seconds for a program."""


@dataclass
class Fallback:
    """For one problem; `started` and `deadline` are times of `perf_counter`."""

    problem: Problem
    seed: int
    started: float
    deadline: float

    def admit(
        self,
        ledger: Ledger,
        placed: Mapping[str, SinglePlacement],
        space: PlanSpace,
        refusal: Refusal,
        reuse: bool,
    ) -> dict[str, SinglePlacement] | Rejection:
        """Placements of the query and of those that must move for it; or why there are none."""
        name = space.query.name
        alone = self._task(space)
        if self._late():
            return self._not_found(name, (), refusal, placed)
        outcome = self._solve(ledger, [alone], reuse)
        if outcome.placements:
            return {name: outcome.placements[0]}
        if not placed:
            return self._refused([alone], outcome, refusal, reuse, placed)
        short = self._shortages(ledger, [alone], reuse)
        nodes = {n for s in short for n in s.nodes}
        others = self._in_the_way(placed, nodes)
        for count in dict.fromkeys((min(4, len(others)), len(others))):
            moving = {q: placed[q] for q in others[:count]}
            tasks = [alone, *(self._task(each.space, each) for each in moving.values())]
            if self._late() or _size(tasks) > MOST:
                return self._not_found(name, short, refusal, placed)
            for each in moving.values():
                ledger.remove(each.space, each.root, each.sink)
            outcome = self._solve(ledger, tasks, reuse)
            for each in moving.values():
                ledger.add(each.space, each.root, each.sink)
            if outcome.placements:
                return dict(zip([name, *moving], outcome.placements, strict=True))
        return self._refused(tasks, outcome, refusal, reuse, placed)

    def _late(self) -> bool:
        return perf_counter() > self.deadline

    def _task(self, space: PlanSpace, hint: SinglePlacement | None = None) -> Task:
        sites = all_sites(self.problem, space)
        return Task(space, sites.tolist(), hint)

    def _solve(self, ledger: Ledger, tasks: list[Task], reuse: bool) -> JointOutcome:
        fewer = self._fewer_sites(ledger, tasks)
        outcome = solve_jointly(
            JointProgram(ledger, fewer, reuse=reuse), WORK, self.seed, self.deadline - perf_counter()
        )
        if outcome.impossible and fewer != tasks:
            return JointOutcome(None, False, 0.0)
        return outcome

    def _fewer_sites(self, ledger: Ledger, tasks: list[Task]) -> list[Task]:
        """The tasks over as many nodes as `MOST` allows: those that they name, then, by turns, the nearest
        to these and the emptiest."""
        if _size(tasks) <= MOST:
            return tasks
        network, every = ledger.network, range(len(self.problem.cluster))
        count = int((MOST / sum(task.space.ways.streams for task in tasks)) ** 0.5)
        fewer = []
        for task in tasks:
            ends = sorted(named_nodes(self.problem, task.space))
            far = np.array([sum(network.link_latency(end, n) for end in ends) for n in every])
            orders = np.stack([np.argsort(far, kind="stable"), np.argsort(-ledger.cpu, kind="stable")], 1)
            sites = list(dict.fromkeys([*ends, *(int(n) for n in orders.ravel())]))
            fewer.append(Task(task.space, sorted(sites[: max(count, len(ends) + 2)]), task.hint))
        return fewer

    def _in_the_way(self, placed: Mapping[str, SinglePlacement], nodes: set[str]) -> list[str]:
        """The placed queries, those first that run most on nodes that are short."""
        index = self.problem.cluster.index
        full = {index[n] for n in nodes}

        def there(name: str) -> int:
            return sum(step.node in full for step in steps(placed[name].root) if step.way >= 0)

        return sorted(placed, key=lambda name: (-there(name), name))

    def _shortages(self, ledger: Ledger, tasks: list[Task], reuse: bool) -> tuple[Shortage, ...]:
        if self._late() or _size(tasks) > MOST:
            return ()
        program = JointProgram(ledger, tasks, elastic=True, reuse=reuse)
        return shortages(program, WORK, self.seed, self.deadline - perf_counter())

    def _refused(
        self,
        tasks: list[Task],
        outcome: JointOutcome,
        refusal: Refusal,
        reuse: bool,
        placed: Mapping[str, SinglePlacement],
    ) -> Rejection:
        """The first task cannot be with the others, or was not found to."""
        name = tasks[0].space.query.name
        short = self._shortages(Ledger(self.problem), tasks, reuse)
        if not outcome.impossible:
            return self._not_found(name, short, refusal, placed)
        beside = "" if len(tasks) == 1 else " next to the queries of higher priority, wherever they run"
        why = [refusal.reason + self._hint(refusal, placed)] if refusal.stuck or not short else []
        missing = "; ".join([*map(str, short), *why])
        late = refusal.late is not None and not short
        return Rejection(name, f"query {name} does not fit{beside}: {missing}", short, late)

    def _not_found(
        self,
        name: str,
        short: tuple[Shortage, ...],
        refusal: Refusal,
        placed: Mapping[str, SinglePlacement],
    ) -> Rejection:
        what = ", ".join(map(str, short)) or refusal.reason + self._hint(refusal, placed)
        reason = f"{not_found(perf_counter() - self.started)}; short of: {what}"
        return Rejection(name, reason, short, refusal.late is not None and not short)

    def _hint(self, refusal: Refusal, placed: Mapping[str, SinglePlacement]) -> str:
        """A limit that the plan which is too late would keep, beside those that are placed."""
        if refusal.late is None:
            return ""
        each = (query_plan(self.problem, one) for one in [*placed.values(), refusal.late])
        latency = evaluate(self.problem, Plan(tuple(each))).latency
        return enough(latency[refusal.late.space.query.name])


def _size(tasks: list[Task]) -> int:
    return sum(task.space.ways.streams * len(task.sites) ** 2 for task in tasks)
