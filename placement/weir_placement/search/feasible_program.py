"""Whether some plan carries given rates, as an integer program: of real plans, and relaxed to all of them.

The real one (`FeasibleProgram`) has the plans of the objective network usage: filters and projections as
early as they can. What it finds is a plan.

The relaxed one (`RelaxedProgram`) has, for each plan there is, one that loads no capacity more: selections
and plain projections cost nothing, so that they are done where their source enters, and a flow may go through
other nodes, as a plan's does where these select. If it has no plan, none carries the rates. The prices of
`priced_bound` mix plans to its optimum, which is lower where a stream is too much for one link or node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weir_placement.network.joint_program import JointProgram, Task
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace


class FeasibleProgram(JointProgram):
    """Any plan that fits will do."""

    def _objective(self) -> None:
        pass


class RelaxedProgram(FeasibleProgram):
    """Of one query whose selections and plain projections cost nothing; `filtering` [CPU-us/s] is what they
    cost at least, wherever they run."""

    def __init__(self, ledger: Ledger, space: PlanSpace, filtering: float) -> None:
        self.filtering = filtering
        self.order: dict[tuple[str, int], Any] = {}
        self.count = len(ledger.problem.cluster)
        super().__init__(ledger, [Task(space, range(self.count))])

    def _collect(self, n: int, task: Task) -> None:
        """Free chains over a source start where it enters."""
        super()._collect(n, task)
        space = task.space
        ways = space.ways
        for t, signature in enumerate(space.signatures):
            for way in range(int(ways.start[t]), int(ways.start[t + 1])):
                inputs = ways.inputs_of(way)
                origins = self.present[space.signatures[inputs[0]]]
                if len(inputs) == 1 and origins and ways.cpu[way] == 0.0 and ways.memory[way] == 0.0:
                    self.present[signature] |= origins
                    for runs in self.makers.pop(signature, {}).values():
                        for run in runs:
                            del self.loads[run]

    def _need(self, signature: str, node: int, literal: Any) -> None:
        """Where `literal` holds, the stream is at the node: made there, or come from any other node."""
        if node in self.present[signature]:
            return
        if (signature, node) not in self.needed:
            there = self.needed[signature, node] = self.model.new_bool_var("")
            ways = [self.run[run] for run in self.makers.get(signature, {}).get(node, ())]
            for other in range(self.count):
                if other != node and self.rate[signature] <= self._widest(other, node):
                    ways.append(self._flow(signature, other, node))
            self.model.add_bool_or([there.Not(), *ways])
        certain = self.model.new_constant(1)
        self.model.add_implication(certain if literal is None else literal, self.needed[signature, node])

    def _flow(self, signature: str, a: int, b: int) -> Any:
        """From a node where the stream is, which has it before the other one does: no flow feeds itself."""
        key = signature, a, b
        if key not in self.flow:
            literal = self.flow[key] = self.model.new_bool_var("")
            if a not in self.present[signature]:
                self._need(signature, a, literal)
                before, after = self._position(signature, a), self._position(signature, b)
                self.model.add(after > before).only_enforce_if(literal)
        return self.flow[key]

    def _position(self, signature: str, node: int) -> Any:
        if (signature, node) not in self.order:
            self.order[signature, node] = self.model.new_int_var(0, self.count - 1, "")
        return self.order[signature, node]

    def _capacities(self) -> None:
        super()._capacities()
        total = float(np.maximum(self.ledger.cpu, 0.0).sum())
        loads = [(self.run[run], cpu) for run, (cpu, _) in self.loads.items() if cpu > 0]
        if self.filtering < total:
            self._limit(("cpu", -1, -1), total - self.filtering, loads)
        else:
            self.model.add_bool_or([])
