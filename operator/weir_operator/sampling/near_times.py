"""Columns that would be times, were it not for some of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weir_operator.sampling.columns import DATE, LIKELY_MOMENTS, TIME, WHOLE


@dataclass(frozen=True)
class NearTimes:
    """`like` of `values` are times; `value`, the first other one, is in a line (0: not known)."""

    like: int
    values: int
    line: int
    value: str

    def __str__(self) -> str:
        """
        >>> print(NearTimes(299, 300, 122, "NA"))
        299 of 300 values are times; line 122: 'NA'
        """
        place = f"line {self.line}" if self.line else "the first other"
        return f"{self.like} of {self.values} values are times; {place}: {self.value[:40]!r}"


def near_times(values: Sequence[Any], lines: Sequence[int] = ()) -> NearTimes | None:
    """What keeps texts from being times, where half of them or more are of one form of times.

    Args:
        lines: of the values, where they are known.
    """
    texts = [(i, value) for i, value in enumerate(values) if isinstance(value, str)]
    for is_time in (TIME.fullmatch, DATE.fullmatch, _is_unix):
        others = [(i, text) for i, text in texts if not is_time(text)]
        like = len(texts) - len(others)
        if others and 2 * like >= len(texts):
            i, text = others[0]
            return NearTimes(like, len(texts), lines[i] if i < len(lines) else 0, text)
    return None


def _is_unix(text: str) -> bool:
    """Whether a number is likely one of milliseconds or microseconds since 1970: seconds are as often ids."""
    return bool(WHOLE.fullmatch(text)) and any(int(text) * us in LIKELY_MOMENTS for us in (1000, 1))
