"""What nodes report of their operators, and what processing costs (D-CAPE, section 3.2, equations 1 to 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weir_placement.adaptation.dataflow_graph import OperatorRef
from weir_placement.cost.flows import flows_of
from weir_placement.cost.load import Load
from weir_placement.cost.rules import RULES
from weir_placement.model.operators import Aggregate, Join, Operator
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream


@dataclass(frozen=True)
class OperatorStatistics:
    """Of one operator since the last report.

    Attributes:
        arriving: [tuples/s] that come to each input; what is not processed waits.
        processed: [tuples/s] of them that it has read, n of the paper.
        output: [tuples/s], m.
        state: [tuples] kept of each input, s.
        queued: [tuples] that wait at its inputs.
        cost: [CPU-us] for each tuple that it reads.
    """

    arriving: tuple[float, ...]
    processed: tuple[float, ...]
    output: float
    state: tuple[float, ...] = ()
    queued: float = 0.0
    cost: float = 0.0

    @property
    def selectivity(self) -> float:
        """m / n; 0 where nothing was read.

        >>> OperatorStatistics((40.0, 40.0), (40.0, 40.0), 160.0).selectivity
        2.0
        """
        return self.output / sum(self.processed) if sum(self.processed) else 0.0

    @property
    def cpu(self) -> float:
        """[CPU-us/s] that it needs for all that arrives."""
        return self.cost * sum(self.arriving)

    @property
    def served(self) -> float:
        """Share of what arrives that is processed, at most 1: it may also be catching up."""
        return min(1.0, sum(self.processed) / sum(self.arriving)) if sum(self.arriving) else 1.0


StatisticsTable = Mapping[OperatorRef, OperatorStatistics]
"""By operator, what the runtime monitor has received last."""


def stateless_cost(inputs: float, outputs: float, queue: float, predicate: float) -> float:
    """Equation 2 (and 1): n (omega + rho) + sigma(n) omega.

    sigma(n) is what leaves, the selectivity times n. The paper writes rho for the predicate and for what it
    costs to evaluate it; it is the cost here.

    Args:
        inputs, outputs: tuples.
        queue: omega, of reading a tuple from a queue or writing it to one.
        predicate: rho, of evaluating a tuple.

    >>> stateless_cost(100, 50, queue=1.0, predicate=3.0)
    450.0
    """
    return inputs * (queue + predicate) + outputs * queue


def stateful_cost(
    inputs: tuple[float, float],
    states: tuple[float, float],
    outputs: float,
    queue: float,
    purge: float,
    predicate: float,
) -> float:
    """Equation 3: n omega + psi (s_1 + s_2) + rho (n_1 s_2 + n_2 s_1) + sigma(n) omega.

    Args:
        states: s_1 and s_2, tuples in the two windows.
        purge: psi, of looking at a stored tuple.
        predicate: rho, of a pair of a new tuple and a stored one.

    The traffic example of section 3.1: Sensor 1 has 6 tuples and Sensor 2 as many, all within one window, and
    2 pairs join.

    >>> stateful_cost((6, 6), (6, 6), 2, queue=1.0, purge=0.0, predicate=1.0)
    86.0
    """
    (n1, n2), (s1, s2) = inputs, states
    return (n1 + n2) * queue + purge * (s1 + s2) + predicate * (n1 * s2 + n2 * s1) + outputs * queue


def expected_statistics(
    queries: Iterable[Query], streams: Mapping[str, Stream], rates: Mapping[str, float]
) -> dict[OperatorRef, OperatorStatistics]:
    """What the operators report where all that arrives is processed, by the model (model.md section 2).

    Args:
        rates: [tuples/s] by stream; a missing one has its nominal rate.
    """
    loads = {name: Load.of(rates.get(name, stream.rate)) for name, stream in streams.items()}
    result = {}
    for query in queries:
        flows = flows_of(query, streams, loads)
        for op in query.operators:
            inputs = [flows[name] for name in op.inputs]
            arriving = tuple(flow.rate(1.0) for flow in inputs)
            output = flows[op.id].rate
            cpu = RULES[op.kind].cpu(op, inputs, output)(1.0)
            state = kept(op, arriving, output(1.0))
            cost = cpu / sum(arriving) if sum(arriving) else op.cost
            result[query.name, op.id] = OperatorStatistics(arriving, arriving, output(1.0), state, cost=cost)
    return result


def kept(op: Operator, arriving: tuple[float, ...], output: float) -> tuple[float, ...]:
    """[tuples] in an operator's state, by input: rows of a join that wait, open groups of windows."""
    if isinstance(op, Join):
        return tuple(rate * op.retention for rate in arriving)
    if isinstance(op, Aggregate):
        return (output * op.window,)
    return ()
