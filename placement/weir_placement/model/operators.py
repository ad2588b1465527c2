"""Operators of a query: what they compute and the parameters of their cost (model.md section 2).

Columns are qualified by the alias of their source (`d.carrier`), so that operators can change
places. Expressions are SQL text over qualified columns, made from a parsed tree
(`weir_placement.model.expressions`): text of users never reaches Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["filter", "project", "join", "aggregate", "union"]
KINDS: tuple[Kind, ...] = ("filter", "project", "join", "aggregate", "union")


@dataclass(frozen=True)
class Window:
    """Rows of two sources join when `lower <= t_left - t_right <= upper` [microseconds].

    It belongs to a pair of source aliases, never to a join's output time: re-association would
    change the rows otherwise.
    """

    left: str
    right: str
    lower: int
    upper: int

    @property
    def half_width(self) -> float:
        """`w` [s] of the papers: half of the range."""
        return (self.upper - self.lower) / 2e6

    @property
    def reach(self) -> float:
        """[s]: the furthest apart two joining rows can be; state is kept and delay grows by it."""
        return max(abs(self.lower), abs(self.upper)) / 1e6


@dataclass(frozen=True)
class Item:
    """An output column and the expression that makes it; a plain column when both are equal."""

    name: str
    expression: str


@dataclass(frozen=True)
class Aggregation:
    """One aggregate of a window: `function` of `expression` (None: count of rows) as `name`."""

    name: str
    function: Literal["count", "sum", "avg", "min", "max"]
    expression: str | None


@dataclass(frozen=True)
class Operator:
    """One operator. `inputs` name source aliases of the query or other operators' ids.

    Which fields matter depends on `kind`:
        filter: `predicate` over `columns` (the qualified columns it reads).
        project: `items`; `columns` are the qualified columns it reads; swappable when every item is plain.
        join: `on` (a conjunction over `columns`, "" for a pure window join) and `windows`.
        aggregate: rows grouped by `items` and by tumbling (slide = window) or sliding event-time
            windows [s] of column `time`, giving `aggregations`; output columns `window.start`, `window.end`.
        union: inputs have the same column names, in the same order.
    """

    id: str
    kind: Kind
    inputs: tuple[str, ...]
    columns: tuple[str, ...] = ()
    predicate: str = ""
    items: tuple[Item, ...] = ()
    on: str = ""
    windows: tuple[Window, ...] = ()
    time: str = ""  # aggregate: the qualified column whose windows group the rows
    window: float = 0.0  # aggregate: window length [s]
    slide: float = 0.0  # aggregate: [s]
    aggregations: tuple[Aggregation, ...] = ()
    groups: float = 1.0  # aggregate: distinct groups in a window
    # cost model; the units are in model.md section 2
    selectivity: float = 1.0  # join: per pair of rows
    cost: float = 0.0  # [CPU-us per input tuple]
    cost_pair: float = 0.0  # [CPU-us per probed pair]
    cost_out: float = 0.0  # [CPU-us per output row]
    memory: float = 0.0  # [bytes]: m of a filter or projection, h of a join's hash table, state per group
    row_overhead: float = 0.0  # v: bytes a stored row takes beside its columns
    delay: float = 0.0  # watermark delay that keeps a join's rows longer [s]; 0 in WhiteWater
    nodes: tuple[str, ...] = ()  # where it may run; empty: anywhere
    origin: tuple[str, ...] = ()  # `from` of the plan JSON: ids it was rewritten from

    def reading(self, *inputs: str) -> Operator:
        """The same operator over other inputs (as `dataclasses.replace`, at a twentieth of its time)."""
        if inputs == self.inputs:
            return self
        other = object.__new__(Operator)
        other.__dict__.update(self.__dict__, inputs=inputs)
        return other

    @property
    def half_width(self) -> float:
        """`w` [s] of a join: the narrowest window that it checks."""
        return min((w.half_width for w in self.windows), default=0.0)
