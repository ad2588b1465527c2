"""Operators of a query: what they compute and the parameters of their cost (model.md section 2).

`Operator` is the sum of the kinds, each a class with the fields that it has. What a kind *is* (its state, how
far back it reaches, the columns that it makes) is said here; the formulas of its cost are in `cost.rules`.

Columns are qualified by the alias of their source (`d.carrier`), so that operators can change
places. Expressions are SQL text over qualified columns, made from a parsed tree
(`weir_placement.model.expressions`): text of users never reaches Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeGuard, get_args

from weir_placement.model.operator_base import ESTIMATE, OperatorBase, TextForm

OperatorKind = Literal["filter", "project", "join", "aggregate", "union"]


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
class Filter(OperatorBase):
    """Keeps the rows for which `predicate` over `columns` holds: a share `selectivity` of them, at most
    `max_selectivity` (0: no range is known)."""

    predicate: str = ""
    selectivity: float = field(default=1.0, kw_only=True, metadata=ESTIMATE)
    max_selectivity: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)

    kind: ClassVar[Literal["filter"]] = "filter"

    def renamed(self, name: TextForm, text: TextForm, **own: Any) -> Self:
        return super().renamed(name, text, **own, predicate=text(self.predicate))

    @property
    def movable(self) -> bool:
        return bool(self.columns)


@dataclass(frozen=True)
class Project(OperatorBase):
    """Makes `items` from each row; when all of them are plain, it may change places."""

    items: tuple[Item, ...] = ()

    kind: ClassVar[Literal["project"]] = "project"

    def renamed(self, name: TextForm, text: TextForm, **own: Any) -> Self:
        items = tuple([Item(text(i.name), text(i.expression)) for i in self.items])
        return super().renamed(name, text, **own, items=items)

    @property
    def new_columns(self) -> tuple[str, ...]:
        return tuple([item.name for item in self.items])

    @property
    def movable(self) -> bool:
        return all(item.name == item.expression for item in self.items)

    def lag(self, below: Mapping[str, int]) -> Mapping[str, int]:
        plain = {item.name: item.expression.replace("`", "") for item in self.items}
        return {name: below[column] for name, column in plain.items() if column in below}


@dataclass(frozen=True)
class Join(OperatorBase):
    """Pairs of rows within `windows` for which `on` holds, a conjunction over `columns` ("": windows alone).

    Attributes:
        selectivity: per pair of rows within the narrowest window, at most `max_selectivity` (0: no range).
        cost_pair, cost_out: [CPU-us] per probed pair, per output row.
        row_overhead: v: bytes a stored row takes beside its columns.
        delay: watermark delay that keeps rows longer [s]; 0 in WhiteWater.
    """

    on: str = ""
    windows: tuple[Window, ...] = ()
    selectivity: float = field(default=1.0, kw_only=True, metadata=ESTIMATE)
    max_selectivity: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)
    cost_pair: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)
    cost_out: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)
    row_overhead: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)
    delay: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)

    kind: ClassVar[Literal["join"]] = "join"
    stateful: ClassVar[bool] = True

    def renamed(self, name: TextForm, text: TextForm, **own: Any) -> Self:
        windows = tuple([Window(name(w.left), name(w.right), w.lower, w.upper) for w in self.windows])
        return super().renamed(name, text, **own, on=text(self.on), windows=windows)

    def costing(self, factor: float) -> Self:
        pair, out = self.cost_pair * factor, self.cost_out * factor
        return super().costing(factor).changed(cost_pair=pair, cost_out=out)

    @property
    def aliases(self) -> tuple[str, ...]:
        sides = (side for window in self.windows for side in (window.left, window.right))
        return tuple(dict.fromkeys((*super().aliases, *sides)))

    def output(self, inputs: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
        parts = [part for part in inputs if part is not None]
        return tuple(c for part in parts for c in part) if len(parts) == len(inputs) else None

    @property
    def movable(self) -> bool:
        return bool(self.columns or self.windows)

    @property
    def reach(self) -> float:
        return max((w.reach for w in self.windows), default=0.0)

    @property
    def half_width(self) -> float:
        """`w` [s]: the narrowest window that it checks."""
        return min((w.half_width for w in self.windows), default=0.0)

    @property
    def retention(self) -> float:
        """[s] that a row waits for its partners."""
        return min((w.reach for w in self.windows), default=0.0) + self.delay


@dataclass(frozen=True)
class Aggregate(OperatorBase):
    """Rows grouped by `items` and by windows of event time, giving `aggregations`, `window.start` and
    `window.end`.

    Attributes:
        time: the qualified column whose windows group the rows.
        window, slide: length of a window, and how often one begins [s]; equal: tumbling.
        groups: distinct groups in a window.
        delay: watermark delay of its streams [s].
    """

    items: tuple[Item, ...] = ()
    time: str = ""
    window: float = 0.0
    slide: float = 0.0
    aggregations: tuple[Aggregation, ...] = ()
    groups: float = field(default=1.0, kw_only=True, metadata=ESTIMATE)
    delay: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)

    kind: ClassVar[Literal["aggregate"]] = "aggregate"
    stateful: ClassVar[bool] = True

    def renamed(self, name: TextForm, text: TextForm, **own: Any) -> Self:
        keys = tuple([Item(text(i.name), text(i.expression)) for i in self.items])
        results = tuple(
            [Aggregation(a.name, a.function, a.expression and text(a.expression)) for a in self.aggregations]
        )
        time = text(self.time)
        return super().renamed(name, text, **own, items=keys, time=time, aggregations=results)

    @property
    def new_columns(self) -> tuple[str, ...]:
        keys = [item.name for item in self.items]
        return (*keys, "window.start", "window.end", *(a.name for a in self.aggregations))

    @property
    def reach(self) -> float:
        return self.window

    @property
    def grouped_time(self) -> str:
        return self.time

    def lag(self, below: Mapping[str, int]) -> Mapping[str, int]:
        wait = below.get(self.time, 0)
        return {"window.end": wait, "window.start": wait + round(self.window * 1e6)}


@dataclass(frozen=True)
class Union(OperatorBase):
    """The rows of all inputs, which have the same column names in the same order."""

    kind: ClassVar[Literal["union"]] = "union"


Operator: TypeAlias = Filter | Project | Join | Aggregate | Union

KINDS: Mapping[str, type[Operator]] = {kind.kind: kind for kind in get_args(Operator)}
"""The classes by kind."""


def is_plain(op: Operator) -> TypeGuard[Project]:
    """Whether it is a projection that only drops columns: then it may change places."""
    return isinstance(op, Project) and op.movable
