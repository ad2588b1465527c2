"""The last decisions of a Placement: equal ones are one line, with how often and since when.

A line is `TIME TEXT`, or `TIME TEXT (N times since TIME)` with the time of the last one first. Looks are
counted where statuses are written: at most one a `status_period`, so that staying costs few writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weir_operator.api.fit import clip
from weir_operator.controller.times import timestamp

MOST = 10
LENGTH = 512
STAY = "stay: "
_LINE = re.compile(r"(?s)(\S+Z) (.*?)(?: \((\d+) times since (\S+Z)\))?")
_ROOM = len(f"{timestamp(0.0)}  (1000000000 times since {timestamp(0.0)})")


@dataclass(frozen=True)
class RepeatedDecision:
    """`first` and `last` as `timestamp` writes them."""

    text: str
    first: str
    last: str
    count: int = 1

    @property
    def line(self) -> str:
        """As it is stored."""
        again = f" ({self.count} times since {self.first})" if self.count > 1 else ""
        return f"{self.last} {self.text}{again}"


def read_line(line: str) -> RepeatedDecision:
    """Of a stored line.

    >>> read_line("2026-01-31T12:00:09Z stay: it is full (4 times since 2026-01-31T12:00:00Z)").count
    4
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return RepeatedDecision(line, "", "")
    last, text, count, first = match.groups()
    return RepeatedDecision(text, first or last, last, int(count or 1))


def with_line(lines: Sequence[str], now: float, text: str) -> list[str]:
    """The lines, newest first, with one more decision. One that is there already is repeated: the newest, or
    any to stay since the last that was none."""
    text, at = clip(text, LENGTH - _ROOM), timestamp(now)
    new = RepeatedDecision(text, at, at)
    for i, old in enumerate(map(read_line, lines)):
        if old.text == text:
            new = RepeatedDecision(text, old.first, at, old.count + 1)
            lines = [*lines[:i], *lines[i + 1 :]]
            break
        if not (old.text.startswith(STAY) and text.startswith(STAY)):
            break
    return [new.line, *lines][:MOST]


def without_repeats(status: Mapping[str, Any]) -> dict[str, Any]:
    """A Placement's status in which decisions have neither order nor times, for comparison."""
    return {**status, "decisions": sorted(read_line(line).text for line in status.get("decisions") or [])}
