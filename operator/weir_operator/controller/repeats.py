"""The last decisions of a Placement: equal ones are one line, with how often and since when.

A line is `TIME [stay: ]TEXT`, with ` (N times since TIME)` behind it where the same was decided N times; the
first time is that of the last one. Looks are counted where statuses are written: at most one a
`status_period`, so that staying costs few writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weir_operator.api.fit import clip
from weir_operator.controller.times import timestamp

MOST = 10
LENGTH = 512
_STAY = "stay: "
_LINE = re.compile(rf"(?s)(\S+Z) ({_STAY})?(.*?)(?: \((\d+) times since (\S+Z)\))?")
_ROOM = len(f"{timestamp(0.0)} {_STAY} (1000000000 times since {timestamp(0.0)})")


@dataclass(frozen=True)
class RepeatedDecision:
    """`first` and `last` as `timestamp` writes them. `stays`: it is one not to act."""

    text: str
    first: str
    last: str
    count: int = 1
    stays: bool = False

    @property
    def words(self) -> str:
        """As people read it."""
        return _STAY * self.stays + self.text

    @property
    def line(self) -> str:
        """As it is stored."""
        again = f" ({self.count} times since {self.first})" if self.count > 1 else ""
        return f"{self.last} {self.words}{again}"


def read_line(line: str) -> RepeatedDecision:
    """Of a stored line.

    >>> read_line("2026-01-31T12:00:09Z stay: it is full (4 times since 2026-01-31T12:00:00Z)").count
    4
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return RepeatedDecision(line, "", "")
    last, stays, text, count, first = match.groups()
    return RepeatedDecision(text, first or last, last, int(count or 1), bool(stays))


def with_line(lines: Sequence[str], now: float, text: str, stays: bool = False) -> list[str]:
    """The lines, newest first, with one more decision. One that is there already is repeated: the newest, or
    any to stay since the last that was none."""
    text, at = clip(text, LENGTH - _ROOM), timestamp(now)
    new = RepeatedDecision(text, at, at, stays=stays)
    for i, old in enumerate(map(read_line, lines)):
        if (old.text, old.stays) == (text, stays):
            new = replace(old, last=at, count=old.count + 1)
            lines = [*lines[:i], *lines[i + 1 :]]
            break
        if not (old.stays and stays):
            break
    return [new.line, *lines][:MOST]


def without_repeats(status: Mapping[str, Any]) -> dict[str, Any]:
    """A Placement's status in which decisions have neither order nor times, for comparison."""
    decisions = map(read_line, status.get("decisions") or [])
    return {**status, "decisions": sorted(decision.words for decision in decisions)}
