"""The cost of each kind of operator: Tables 3 and 4 of [1]_ with the extensions of model.md section 2.

A kind of operator is a plug-in: it gives four formulas (output rate, CPU load, memory, output
columns), and every search and every report works with it. Register a new one with `register`.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from weir_placement.cost.load import Load, total
from weir_placement.model.operators import Operator

DEFAULT_COLUMN_BYTES = 8.0
"""[bytes] of a column that no source declares: a computed expression, an aggregate."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What goes from an operator to its consumers: rate [tuples/s] and the bytes of each column."""

    rate: Load
    columns: Mapping[str, float]
    width: float  # [bytes] a tuple

    @property
    def bytes(self) -> Load:
        """[bytes/s]."""
        return self.rate.times(self.width)


Inputs = Sequence[Flow]


@dataclass(frozen=True)
class Rule:
    """Four formulas of one kind of operator over its input flows.

    output: [tuples/s]. cpu: [CPU-us/s], given the output rate as well. memory: [bytes].
    columns: the columns that leave, with their bytes; None keeps the tuple of the only input.
    """

    output: Callable[[Operator, Inputs], Load]
    cpu: Callable[[Operator, Inputs, Load], Load]
    memory: Callable[[Operator, Inputs], Load]
    columns: Callable[[Operator, Inputs], Mapping[str, float]] | None = None


RULES: dict[str, Rule] = {}


def register(kind: str, rule: Rule) -> None:
    """Makes `kind` known to every evaluation and search."""
    RULES[kind] = rule


def apply(op: Operator, inputs: Inputs) -> Flow:
    """The flow that leaves `op`."""
    rule = RULES[op.kind]
    rate = rule.output(op, inputs)
    if rule.columns is None:
        return Flow(rate, inputs[0].columns, inputs[0].width)
    columns = rule.columns(op, inputs)
    # A source may be wider than its declared columns (tupleBytes is what was measured): only operators
    # that choose columns go by them.
    if op.kind == "join":
        return Flow(rate, columns, sum(f.width for f in inputs))
    if op.kind == "union":
        return Flow(rate, columns, max(f.width for f in inputs))
    return Flow(rate, columns, sum(columns.values()))


def _input_rate(inputs: Inputs) -> Load:
    return total(flow.rate for flow in inputs)


def _per_input(op: Operator, inputs: Inputs, _: Load) -> Load:
    return _input_rate(inputs).times(op.cost)


def _fixed_memory(op: Operator, _: Inputs) -> Load:
    return Load.of(op.memory)


def _project_columns(op: Operator, inputs: Inputs) -> Mapping[str, float]:
    known = inputs[0].columns
    return {item.name: known.get(item.expression, DEFAULT_COLUMN_BYTES) for item in op.items}


def _join_output(op: Operator, inputs: Inputs) -> Load:
    left, right = inputs
    return (left.rate * right.rate).times(2.0 * op.half_width * op.selectivity)


def _join_cpu(op: Operator, inputs: Inputs, output: Load) -> Load:
    left, right = inputs
    pairs = (left.rate * right.rate).times(2.0 * op.half_width * op.cost_pair)
    return (left.rate + right.rate).times(op.cost) + pairs + output.times(op.cost_out)


def _join_memory(op: Operator, inputs: Inputs) -> Load:
    """(w + delay)(r1 (m1 + v) + r2 (m2 + v)) + 2 h; an uneven window keeps rows for its reach."""
    kept = min((w.reach for w in op.windows), default=0.0) + op.delay
    rows = total(flow.rate.times(kept * (flow.width + op.row_overhead)) for flow in inputs)
    return rows + Load.of(2.0 * op.memory)


def _join_columns(_: Operator, inputs: Inputs) -> Mapping[str, float]:
    return {name: size for flow in inputs for name, size in flow.columns.items()}


def _aggregate_output(op: Operator, inputs: Inputs) -> Load:
    """min(g / slide, r window / slide): with few rows most groups stay empty."""
    return inputs[0].rate.times(op.window / op.slide).at_most(op.groups / op.slide)


def _aggregate_memory(op: Operator, _: Inputs) -> Load:
    return Load.of(op.memory * op.groups * op.window / op.slide)


def _aggregate_columns(op: Operator, inputs: Inputs) -> Mapping[str, float]:
    known = inputs[0].columns
    return {
        **{item.name: known.get(item.expression, DEFAULT_COLUMN_BYTES) for item in op.items},
        "window.start": DEFAULT_COLUMN_BYTES,
        "window.end": DEFAULT_COLUMN_BYTES,
        **{a.name: DEFAULT_COLUMN_BYTES for a in op.aggregations},
    }


def _union_columns(_: Operator, inputs: Inputs) -> Mapping[str, float]:
    """Inputs have the same names; a column is as wide as in the widest of them."""
    return {name: max(f.columns.get(name, 0.0) for f in inputs) for name in inputs[0].columns}


register(
    "filter",
    Rule(lambda op, i: i[0].rate.times(op.selectivity), _per_input, _fixed_memory),
)
register("project", Rule(lambda op, i: i[0].rate, _per_input, _fixed_memory, _project_columns))
register("join", Rule(_join_output, _join_cpu, _join_memory, _join_columns))
register("aggregate", Rule(_aggregate_output, _per_input, _aggregate_memory, _aggregate_columns))
register("union", Rule(lambda op, i: _input_rate(i), _per_input, _fixed_memory, _union_columns))
