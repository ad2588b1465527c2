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
from typing import Any

from weir_placement.cost.load import Load, total
from weir_placement.model.operators import Aggregate, Item, Join, Operator, Project

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
    width: [bytes] of a tuple that leaves, where the columns do not say it: a source may be wider than its
    declared columns (tupleBytes is what was measured). None: the columns together.
    share: of a kind that hands on a share of its input's rows (`share_of_rows`): that share, from which
    searches make their own formulas.
    """

    output: Callable[[Any, Inputs], Load]
    cpu: Callable[[Any, Inputs, Load], Load]
    memory: Callable[[Any, Inputs], Load]
    columns: Callable[[Any, Inputs], Mapping[str, float]] | None = None
    width: Callable[[Inputs], float] | None = None
    share: Callable[[Any], float] | None = None


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
    return Flow(rate, columns, rule.width(inputs) if rule.width else sum(columns.values()))


def input_rate(inputs: Inputs) -> Load:
    """[tuples/s] of all inputs together."""
    return total(flow.rate for flow in inputs)


def cost_per_input(op: Operator, inputs: Inputs, _: Load) -> Load:
    """CPU [CPU-us/s] of an operator that does the same for every tuple."""
    return input_rate(inputs).times(op.cost)


def fixed_memory(op: Operator, _: Inputs) -> Load:
    """[bytes] of an operator that keeps no rows."""
    return Load.of(op.memory)


def share_of_rows(share: Callable[[Any], float]) -> Rule:
    """Of a kind that hands on this share of its one input's rows as they are, and keeps none."""
    return Rule(lambda op, i: i[0].rate.times(share(op)), cost_per_input, fixed_memory, share=share)


def _item_columns(items: Sequence[Item], inputs: Inputs) -> dict[str, float]:
    below = inputs[0].columns
    return {item.name: below.get(item.expression, DEFAULT_COLUMN_BYTES) for item in items}


def _project_columns(op: Project, inputs: Inputs) -> Mapping[str, float]:
    return _item_columns(op.items, inputs)


def _join_output(op: Join, inputs: Inputs) -> Load:
    left, right = inputs
    return (left.rate * right.rate).times(2.0 * op.half_width * op.selectivity)


def _join_cpu(op: Join, inputs: Inputs, output: Load) -> Load:
    left, right = inputs
    pairs = (left.rate * right.rate).times(2.0 * op.half_width * op.cost_pair)
    return (left.rate + right.rate).times(op.cost) + pairs + output.times(op.cost_out)


def _join_memory(op: Join, inputs: Inputs) -> Load:
    """(w + delay)(r1 (m1 + v) + r2 (m2 + v)) + 2 h; an uneven window keeps rows for its reach."""
    rows = total(flow.rate.times(op.retention * (flow.width + op.row_overhead)) for flow in inputs)
    return rows + Load.of(2.0 * op.memory)


def _join_columns(_: Join, inputs: Inputs) -> Mapping[str, float]:
    return {name: size for flow in inputs for name, size in flow.columns.items()}


def _aggregate_output(op: Aggregate, inputs: Inputs) -> Load:
    """min(g / slide, r window / slide): with few rows most groups stay empty."""
    return inputs[0].rate.times(op.window / op.slide).at_most(op.groups / op.slide)


def _aggregate_memory(op: Aggregate, inputs: Inputs) -> Load:
    """m min(g, r window) in each of the window / slide windows that are open: no more groups than rows."""
    return _aggregate_output(op, inputs).times(op.memory * op.window)


def _aggregate_columns(op: Aggregate, inputs: Inputs) -> Mapping[str, float]:
    return {**dict.fromkeys(op.new_columns, DEFAULT_COLUMN_BYTES), **_item_columns(op.items, inputs)}


def _union_columns(_: Operator, inputs: Inputs) -> Mapping[str, float]:
    """Inputs have the same names; a column is as wide as in the widest of them."""
    return {name: max(f.columns.get(name, 0.0) for f in inputs) for name in inputs[0].columns}


register("filter", share_of_rows(lambda op: op.selectivity))
register("project", Rule(lambda op, i: i[0].rate, cost_per_input, fixed_memory, _project_columns))
register(
    "join", Rule(_join_output, _join_cpu, _join_memory, _join_columns, lambda i: sum(f.width for f in i))
)
register("aggregate", Rule(_aggregate_output, cost_per_input, _aggregate_memory, _aggregate_columns))
register(
    "union",
    Rule(
        lambda op, i: input_rate(i),
        cost_per_input,
        fixed_memory,
        _union_columns,
        lambda i: max(f.width for f in i),
    ),
)
