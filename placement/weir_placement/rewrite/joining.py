"""The joins of one SELECT: left-deep in the order of FROM, each with an equality and a time window."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, NoReturn

from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.expressions import Expression, conjunction, equality_sides
from weir_placement.model.operators import Join, Operator, Window
from weir_placement.model.windows import contradicts, tighten
from weir_placement.rewrite.constraints import Constraints
from weir_placement.rewrite.joined_rate import WrittenJoin, joined_rate
from weir_placement.rewrite.scope import Scope
from weir_placement.rewrite.statement import TABLE
from weir_placement.rewrite.time_ranges import TimeLimits, interval_in_words, merge, time_limits, windows_of

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node


@dataclass(frozen=True)
class Conjunct:
    """A conjunct of ON or WHERE."""

    written: Expression
    aliases: frozenset[str]
    node: Node


def join(scope: Scope, conditions: list[Conjunct]) -> tuple[list[Operator], list[Conjunct]]:
    """The joins, and the conditions that are none of theirs.

    Raises:
        ExpressionError: a stream without an equality or a time window, or windows that contradict each other.
    """
    return _Joining(scope).all(conditions)


class _Joining:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._order = scope.order

    def all(self, conditions: list[Conjunct]) -> tuple[list[Operator], list[Conjunct]]:
        """The joins that conditions over several streams ask for, and the other conditions."""
        filters: list[Conjunct] = []
        pairs: list[Conjunct] = []
        limits: list[TimeLimits] = []
        for condition in conditions:
            two = len(condition.aliases) == 2
            limit = time_limits(condition.written.text, self._scope.times) if two else None
            if len(condition.aliases) < 2:
                filters.append(condition)
            elif limit is not None:
                limits.append(limit)
            else:
                pairs.append(condition)
        if windows_of(merge(limits), self._order)[1]:  # a BETWEEN over three streams may be what is missing
            for condition in list(pairs):
                limit = time_limits(condition.written.text, self._scope.times)
                if limit is not None:
                    limits.append(limit)
                    pairs.remove(condition)
        merged = merge(limits)
        if contradicts(tighten(merged)):
            self._refuse_contradiction(merged)
        windows, unlimited = windows_of(merged, self._order)
        for a, b in unlimited:
            self._refuse_table(
                b,
                f"{a} and {b} are limited in time on one side only, so rows would be kept forever; "
                f"write {self._example(a, b)}",
            )
        return self._join_tree(pairs, windows), filters

    def _refuse_contradiction(self, limits: TimeLimits) -> NoReturn:
        """Of two streams, where the limits between two are enough to contradict each other."""
        both = next(({a, b} for (a, b), limit in limits.items() if limit + limits.get((b, a), inf) < 0), None)
        names = [alias for alias in self._order if both is None or alias in both]
        *others, last = (self._in_words(a, b, limits[a, b]) for a in names for b in names if (a, b) in limits)
        wrong = "the time conditions contradict each other, so no rows could ever join"
        right = f"write {self._example(names[0], names[-1])}"
        self._refuse_table(names[-1], f"{wrong}: {', '.join(others)} and {last}; {right}")

    def _in_words(self, a: str, b: str, limit: float) -> str:
        """The limit [us] of `t_a - t_b`."""
        times = [f"{alias}.{self._scope.streams[alias].event_time}" for alias in (a, b)]
        strict = (limit + 1) % 1000 == 0  # a microsecond was left out
        distance = int(limit) + strict
        if not distance:
            return f"{times[0]} is {'before' if strict else 'at or before'} {times[1]}"
        words = ("less than", "more than") if strict else ("at most", "at least")
        side = f"{words[0]} {{}} after" if distance > 0 else f"{words[1]} {{}} before"
        return f"{times[0]} is {side.format(interval_in_words(abs(distance)))} {times[1]}"

    def _example(self, a: str, b: str) -> str:
        times = {alias: f"{alias}.{self._scope.streams[alias].event_time or 'ts'}" for alias in (a, b)}
        return f"{times[b]} BETWEEN {times[a]} - INTERVAL 5 MINUTES AND {times[a]} + INTERVAL 5 MINUTES"

    def _join_tree(self, pairs: list[Conjunct], windows: list[Window]) -> list[Operator]:
        """Left-deep in the order of FROM; a stream that has no condition with those before it waits."""
        joins: list[Join] = []
        joined, waiting, top = [self._order[0]], self._order[1:], self._order[0]
        left = list(pairs)
        while waiting:
            alias = next((a for a in waiting if self._connected(a, joined, left, windows)), "")
            if not alias:
                self._refuse_unconnected(waiting[0], joined, left, windows)
            waiting.remove(alias)
            here = [
                w for w in windows if alias in (w.left, w.right) and {w.left, w.right} <= {alias, *joined}
            ]
            joined.append(alias)
            on = [c for c in left if c.aliases <= set(joined)]
            left = [c for c in left if c not in on]
            joins.append(self._join(top, alias, [c.written for c in on], here))
            top = joins[-1].id
        return self._estimated(joins)

    def _estimated(self, joins: list[Join]) -> list[Operator]:
        """With the selectivities that the set of streams and its conditions have in any order."""
        constraints = Constraints.of(joins, self._scope.types)
        bits = {alias: 1 << n for n, alias in enumerate(self._order)}
        written: list[WrittenJoin] = []
        below = {alias: bits[alias] for alias in self._order}
        for join in joins:
            left, right = (below[name] for name in join.inputs)
            below[join.id] = left | right
            written.append(WrittenJoin(left, right, constraints.conditions(join, bits), join.half_width))
        rate = joined_rate(written, constraints.windows, bits, self._scope.distinct)
        return [
            replace(join, selectivity=rate.written_between(w)) for join, w in zip(joins, written, strict=True)
        ]

    @staticmethod
    def _connected(alias: str, joined: list[str], pairs: list[Conjunct], windows: list[Window]) -> bool:
        near = any({w.left, w.right} - {alias} <= set(joined) for w in windows if alias in (w.left, w.right))
        return near and any(_is_equality(c, alias, set(joined)) for c in pairs)

    def _refuse_unconnected(
        self, alias: str, joined: list[str], pairs: list[Conjunct], windows: list[Window]
    ) -> NoReturn:
        others = " or ".join(joined)
        if not any(alias in (w.left, w.right) for w in windows):
            self._refuse_table(
                alias,
                f"the join of {alias} has no time window, so its rows would be kept forever; "
                f"write {self._example(joined[0], alias)}; {TABLE}",
            )
        self._refuse_table(
            alias,
            f"the join of {alias} with {others} needs an equality and a time window between them, "
            f"such as {joined[0]}.key = {alias}.key AND {self._example(joined[0], alias)}",
        )

    def _join(self, top: str, alias: str, on: list[Expression], windows: list[Window]) -> Join:
        columns = {c for condition in on for c in condition.columns}
        return Join(
            self._scope.ids.new("j"),
            (top, alias),
            columns=tuple(sorted(columns)),
            on=conjunction(c.text for c in on),
            windows=tuple(windows),
            cost=self._scope.costs.join,
            cost_pair=self._scope.costs.join_pair,
            cost_out=self._scope.costs.join_out,
            row_overhead=self._scope.costs.row_overhead,
            delay=max(s.delay for s in self._scope.streams.values()),
        )

    def _refuse_table(self, alias: str, message: str) -> NoReturn:
        raise ExpressionError(message, self._scope.statement.text, self._scope.written_alias[alias].offset)


def _is_equality(condition: Conjunct, alias: str, joined: set[str]) -> bool:
    """Whether a condition is an equality between `alias` and streams of `joined`."""
    columns = equality_sides(condition.written.text)
    if columns is None or not condition.aliases <= joined | {alias}:
        return False
    sides = [{column.partition(".")[0] for column in side} for side in columns]
    return {alias} in sides and all(sides) and any(side <= joined for side in sides)
