"""Improves the plans of several queries together, by the joint program: all of them, or some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter

import numpy as np

from weir_placement.model.problem import Problem
from weir_placement.network.joint_program import JointProgram, Task
from weir_placement.network.joint_solution import solve_jointly
from weir_placement.network.ledger import Ledger, steps
from weir_placement.network.single import SinglePlacement
from weir_placement.network.sites import all_sites, named_nodes

MOST = 60_000
"""Flows of a program of all queries."""
PART = 20_000
"""Flows of a program of some."""
WORK = 3.0
"""Of CP-SAT's deterministic seconds for all queries; a tenth for some."""
DIGITS = 1e-7
"""Relative: whole numbers stand for costs in the program, so that it is exact to so much."""
GROUPS = 40
"""Of some queries at most."""
PATIENCE = 10
"""Groups without a better plan after which it ends."""


@dataclass
class Together:
    """The plans of queries, in a ledger that counts them; both are kept up to date."""

    problem: Problem
    ledger: Ledger
    placed: dict[str, SinglePlacement]
    reuse: bool
    seed: int
    deadline: float

    def improve(self) -> float:
        """Makes the whole better where it can; a bound [bytes] on the usage of all plans, or 0."""
        names = list(self.placed)
        every = [Task(p.space, all_sites(self.problem, p.space).tolist(), p) for p in self.placed.values()]
        if flows_of(every) <= MOST:
            bound = self._replan(names, every, WORK)
            return self.ledger.usage if bound >= self.ledger.usage * (1 - DIGITS) else bound
        random = Random(self.seed)
        since = 0
        for _ in range(GROUPS):
            if since >= PATIENCE or perf_counter() > self.deadline:
                break
            before = self.ledger.usage
            group = self._group(names, random)
            self._replan([task.space.query.name for task in group], group, WORK / 10)
            since = 0 if self.ledger.usage < before * (1 - 1e-6) else since + 1
        return 0.0

    def _replan(self, names: Sequence[str], tasks: Sequence[Task], work: float) -> float:
        """Plans some queries anew over what the others leave; kept if that is better."""
        ledger, before = self.ledger, self.ledger.usage
        old = [self.placed[name] for name in names]
        for each in old:
            ledger.remove(each.space, each.root, each.sink)
        program = JointProgram(ledger, tasks, reuse=self.reuse)
        outcome = solve_jointly(program, work, self.seed, self.deadline - perf_counter())
        new = outcome.placements or old
        for each in new:
            ledger.add(each.space, each.root, each.sink)
        if new is not old and ledger.usage >= before * (1 - 1e-9):
            for each in new:
                ledger.remove(each.space, each.root, each.sink)
            for each in old:
                ledger.add(each.space, each.root, each.sink)
            new = old
        self.placed.update(zip(names, new, strict=True))
        return outcome.bound

    def _group(self, names: Sequence[str], random: Random) -> list[Task]:
        """A query and those that use most of its nodes and streams, as many as a program takes."""
        first = self.placed[random.choice(names)]
        near = self._touched(first)
        others = [(len(near & self._touched(self.placed[n])) + random.random(), n) for n in names]
        tasks: list[Task] = []
        for _, name in sorted(others, reverse=True):
            each = self.placed[name]
            more = [*tasks, Task(each.space, self._sites(each, random), each)]
            if tasks and flows_of(more) > PART:
                break
            tasks = more
        return tasks

    def _touched(self, placed: SinglePlacement) -> set[int | str]:
        space = placed.space
        return {s.node for s in steps(placed.root)} | {space.signatures[s.stream] for s in steps(placed.root)}

    def _sites(self, placed: SinglePlacement, random: Random) -> list[int]:
        """Its ends, its nodes, those near to them and some others."""
        count = min(len(self.problem.cluster), SITES)
        ends = named_nodes(self.problem, placed.space) | {s.node for s in steps(placed.root)}
        network = self.ledger.network
        anchors = sorted(ends)
        group = network.group[anchors]
        far = np.asarray(network.latency)[group].sum(axis=0)[network.group]
        free = np.where(self.ledger.cpu > 0, far, np.inf)
        order = np.argsort(free, kind="stable")[: 2 * count].tolist()
        chosen = random.sample(order, min(count, len(order)))
        return sorted({*anchors, *chosen})


SITES = 4
"""Nodes of a query in a program of some, beside its own."""


def flows_of(tasks: Sequence[Task]) -> int:
    """Flows of a program, about."""
    return sum(task.space.ways.streams * len(task.sites) ** 2 for task in tasks)
