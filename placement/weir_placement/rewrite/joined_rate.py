"""How many rows a joined set of streams has: one rule, from the set and the predicates (model.md section 4).

The rate of a set S is `prod r_i * factor(S)` in every order of its joins, `factor = share * volume`.
Equalities and other conditions have estimates; what was declared or measured of a written join is a
correction of these, attached to its conditions and not to its place in the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf, isclose, prod
from operator import or_

from weir_placement.cost import window_volume
from weir_placement.model.operators import Join, Operator, Window
from weir_placement.model.problem import Query
from weir_placement.rewrite.estimates import UNKNOWN_DISTINCT, condition_selectivity, distinct_values

ColumnPair = tuple[tuple[str, int], tuple[str, int]]
"""Two columns, each with the bit of its input."""


@dataclass(frozen=True)
class JoinCondition:
    """A conjunct of a written join: the mask of the inputs that it reads, its columns if it is a transitive
    equality. The text is "" for a window without conditions."""

    mask: int
    text: str
    pair: ColumnPair | None = None


@dataclass(frozen=True)
class WrittenJoin:
    """A join as written: the masks of its inputs and its conditions; `selectivity` is per pair of rows
    within its narrowest window, None to be estimated."""

    left: int
    right: int
    conditions: tuple[JoinCondition, ...]
    half_width: float  # [s]
    selectivity: float | None = None


Class = dict[str, int]
"""Columns that are equal in every result: each with its input's bit."""


class JoinedRate:
    """The rule for one block of joins, its inputs numbered by bits; `windows` bound pairs of inputs [s],
    `distinct` are values by qualified column, where they are declared."""

    def __init__(
        self,
        joins: Sequence[WrittenJoin],
        windows: Iterable[window_volume.Bound],
        distinct: Mapping[str, float],
    ) -> None:
        self._windows = tuple(windows)
        self._distinct = distinct
        self._volumes: dict[int, float] = {}
        self._shares: dict[int, float] = {}
        self._joins = joins
        self._classes = _classes(joins)
        self._values: dict[str, float] = {}  # distinct, by column
        self._others: dict[str, tuple[int, float]] = {}  # by text: mask, estimate
        self._corrections: list[tuple[int, float]] = []
        fresh = [self._fresh(join) for join in joins]
        self._value_columns(joins, fresh)
        for join, conditions in zip(joins, fresh, strict=True):
            self._correct(join, conditions)

    def factor(self, mask: int) -> float:
        """The rate of a set over the product of its inputs' rates [s^(n-1)]."""
        return self.share(mask) * self.volume(mask)

    def between(self, left: int, right: int, half_width: float) -> float:
        """The selectivity of the join of two sets, per pair of rows within its narrowest window."""
        apart = self.share(left) * self.share(right)
        return self.share(left | right) / apart * self._narrowing(left, right, half_width) if apart else 0.0

    def written_between(self, join: WrittenJoin) -> float:
        """As `between`, of a join as written over others as written: an equality that only a join above them
        implies is not checked before."""
        apart = self._written_share(join.left) * self._written_share(join.right)
        whole = self._written_share(join.left | join.right)
        return whole / apart * self._narrowing(join.left, join.right, join.half_width) if apart else 0.0

    def share(self, mask: int) -> float:
        """Of the rows of a set that lie within its windows, those for which its conditions hold."""
        if mask not in self._shares:
            self._shares[mask] = self._share(mask, self._classes)
        return self._shares[mask]

    def _written_share(self, mask: int) -> float:
        inside = [join for join in self._joins if not (join.left | join.right) & ~mask]
        return self._share(mask, _classes(inside)) if inside else 1.0

    def _share(self, mask: int, classes: Iterable[Class]) -> float:
        result = prod(self._class_share(columns, mask) for columns in classes)
        result *= prod(share for own, share in self._others.values() if not own & ~mask)
        return result * prod(factor for own, factor in self._corrections if not own & ~mask)

    def _class_share(self, columns: Class, mask: int) -> float:
        """1 / d for each column but the one with the fewest values (their values lie within each other's,
        as System R has it): every spanning tree of written or implied equalities gives the same."""
        inside = [c for c, bit in columns.items() if bit & mask]
        if len({columns[c] for c in inside}) < 2:
            return 1.0
        return 1.0 / prod(sorted(self._values[c] for c in inside)[1:])

    def volume(self, mask: int) -> float:
        """V(S) [s^(n-1)], of parts without a window between them the product."""
        if mask not in self._volumes:
            self._volumes[mask] = prod(self._connected_volume(part) for part in self._parts(mask))
        return self._volumes[mask]

    def _parts(self, mask: int) -> list[int]:
        parts = [1 << i for i in range(mask.bit_length()) if mask >> i & 1]
        for i, j, _, _ in self._windows:
            if mask >> i & mask >> j & 1:
                joined = [part for part in parts if part >> i & 1 or part >> j & 1]
                parts = [part for part in parts if part not in joined] + [sum(joined)]
        return parts

    def _connected_volume(self, mask: int) -> float:
        number = {i: n for n, i in enumerate(i for i in range(mask.bit_length()) if mask >> i & 1)}
        bounds = [
            (number[i], number[j], lo, up) for i, j, lo, up in self._windows if i in number and j in number
        ]
        return window_volume.volume(len(number), bounds)

    def _narrowing(self, left: int, right: int, half_width: float) -> float:
        """Of the pairs within the narrowest window, those within all windows."""
        parts = self.volume(left) * self.volume(right) * 2 * half_width
        ratio = self.volume(left | right) / parts if parts > 0 else 1.0
        return 1.0 if isclose(ratio, 1.0, rel_tol=1e-12) else ratio

    def _fresh(self, join: WrittenJoin) -> list[JoinCondition]:
        """The conditions that the others of the join, and the equalities below it, do not imply."""
        equal = dict[str, str]()
        for side in (join.left, join.right):
            for columns in _classes(j for j in self._joins if not (j.left | j.right) & ~side):
                first, *others = columns
                equal.update(dict.fromkeys(others, first))
        result = []
        for condition in join.conditions:
            if condition.pair is not None:
                one, other = (_root(equal, column) for column, _ in condition.pair)
                if one == other:
                    continue
                equal[one] = other
            result.append(condition)
        return result

    def _value_columns(self, joins: Sequence[WrittenJoin], fresh: Sequence[list[JoinCondition]]) -> None:
        """Distinct values of every class's columns and estimates of other conditions.

        Where no column of a class has declared ones, all get those of its least selective written join.
        """
        declared = [any(c in self._distinct for c in columns) for columns in self._classes]
        for columns, valued in zip(self._classes, declared, strict=True):
            if valued:
                self._values.update({c: distinct_values(c, self._distinct) for c in columns})
        guesses = [list[float]() for _ in self._classes]
        for join, conditions in zip(joins, fresh, strict=True):
            open_classes = []
            estimated = 1.0
            for condition in conditions:
                if condition.pair is None:
                    estimate = (
                        condition_selectivity(condition.text, self._distinct) if condition.text else 1.0
                    )
                    self._others[condition.text or str(condition.mask)] = condition.mask, estimate
                    estimated *= estimate
                    continue
                n = next(n for n, c in enumerate(self._classes) if condition.pair[0][0] in c)
                if declared[n]:
                    estimated /= max(self._values[c] for c, _ in condition.pair)
                else:
                    open_classes.append(n)
            share = 1.0 / UNKNOWN_DISTINCT
            if join.selectivity is not None and open_classes:
                estimated *= self._narrowing(join.left, join.right, join.half_width)
                stated = join.selectivity / estimated if estimated > 0 else 1.0
                share = min(1.0, max(1e-12, stated)) ** (1.0 / len(open_classes))
            for n in open_classes:
                guesses[n].append(1.0 / share)
        for columns, valued, guess in zip(self._classes, declared, guesses, strict=True):
            if not valued:
                self._values.update(dict.fromkeys(columns, min(guess, default=UNKNOWN_DISTINCT)))

    def _correct(self, join: WrittenJoin, conditions: list[JoinCondition]) -> None:
        """Attaches to the join's conditions what it was said to keep over what they are estimated to."""
        if join.selectivity is None or not conditions:
            return
        estimate = self.written_between(join)
        if not 0 < estimate < inf or isclose(estimate, join.selectivity, rel_tol=1e-9):
            return
        factor = (join.selectivity / estimate) ** (1.0 / len(conditions))
        self._corrections += [(c.mask, factor) for c in conditions]
        self._shares.clear()


def joined_rate(
    joins: Sequence[WrittenJoin],
    windows: Iterable[Window],
    bits: Mapping[str, int],
    distinct: Mapping[str, float],
) -> JoinedRate:
    """The rule with windows between source aliases; `bits` of the inputs that these are in."""
    bounds = [
        (bits[w.left].bit_length() - 1, bits[w.right].bit_length() - 1, w.lower / 1e6, w.upper / 1e6)
        for w in windows
        if bits[w.left] != bits[w.right]
    ]
    return JoinedRate(joins, bounds, distinct)


def within_all_windows(query: Query) -> Query:
    """The query whose joins have selectivities of pairs within their narrowest window, from one that has them
    of pairs within all windows: what the windows of a cycle cut off counts beside the conditions."""
    bits = {alias: 1 << n for n, alias in enumerate(query.sources)}
    joins = [op for op in query.operators if isinstance(op, Join)]
    if all(len(join.windows) < 2 for join in joins):
        return query
    rate = joined_rate((), (w for join in joins for w in join.windows), bits, {})
    below = dict(bits)
    operators: list[Operator] = []
    for op in query.operators:
        masks = [below[name] for name in op.inputs]
        below[op.id] = reduce(or_, masks)
        if isinstance(op, Join):
            share = rate.between(masks[0], masks[1], op.half_width)
            op = replace(op, selectivity=op.selectivity * share, max_selectivity=op.max_selectivity * share)
        operators.append(op)
    return replace(query, operators=tuple(operators))


def _root(parent: Mapping[str, str], column: str) -> str:
    while column in parent:
        column = parent[column]
    return column


def _classes(joins: Iterable[WrittenJoin]) -> list[Class]:
    """The classes of transitive equalities, in the order in which they are first written."""
    classes: list[Class] = []
    for pair in (c.pair for join in joins for c in join.conditions):
        if pair is None:
            continue
        merged = dict(pair)
        for columns in [c for c in classes if any(column in c for column, _ in pair)]:
            classes.remove(columns)
            merged = {**columns, **merged}
        classes.append(merged)
    return classes
