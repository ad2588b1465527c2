"""Rows that cannot be read: told apart from those that can, one by one, with their bytes and the reason.

What a row is found to be depends on the row alone (and on how far ahead of the wall clock its time may be,
which a log's place has recorded), never on its neighbours: so every reader, and every replay, agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weir_runtime.arrow_types import unix_unit
from weir_runtime.names import PLAUSIBLE

EXPLAINED = 100
"""Rows of a call whose reasons are looked for value by value; those after them have the parser's."""

REASON = 300
"""Letters of a reason: parsers quote the row in theirs."""

NUMBERS_FROM = 100_000_000_000_000
"""[us] 1973-03-03: event times that are numbers are after it. So no number is plausible in two units: what
was after it a thousand times as long ago would be after the year 5000."""

MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Unreadable(ValueError):
    """Rows that do not have the form or the types of the stream; the message says what is wrong with them."""


@dataclass(frozen=True)
class BadRow:
    """
    Attributes:
        position: in the file, or the offset; None: the file as a whole cannot be read.
        reason: for people; at most `REASON` letters, and none that a terminal would obey.
        raw: its bytes, as they are in the log; of a columnar file the values as JSON.
        ahead: whether it is bad only because its event time is too far ahead of the wall clock.
    """

    position: int | None
    reason: str
    raw: bytes
    ahead: bool = False

    def __post_init__(self) -> None:
        letters = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in self.reason)
        object.__setattr__(self, "reason", "".join(letters)[:REASON])


@dataclass(frozen=True)
class Parsed:
    """Rows of a file or of a range of messages: those that can be read with their positions, shape (n,), in
    the log's order, and the others."""

    rows: pa.Table
    positions: NDArray[np.uint64]
    bad: tuple[BadRow, ...] = ()

    def ahead(self) -> bool:
        """Whether one of them is too far ahead of the wall clock: a later clock might allow it."""
        return any(row.ahead for row in self.bad)

    def count(self) -> int:
        """All rows, bad ones too."""
        return len(self.positions) + len(self.bad)

    def behind(self, first: int) -> Parsed:
        """The same rows, where the first one's position is `first`."""
        bad = tuple(replace(r, position=None if r.position is None else r.position + first) for r in self.bad)
        return Parsed(self.rows, self.positions + np.uint64(first), bad)


def isolate(
    count: int,
    parse: Callable[[int, int], pa.Table],
    raw: Callable[[int], bytes],
    why: Callable[[int], str] = lambda position: "",
) -> Parsed:
    """The rows 0, 1, ... `count` - 1, where `parse` gives those of a range, or raises Unreadable or
    pa.ArrowInvalid when one of them cannot be read: then halves are tried, down to single rows. `why` gives
    the reason of one that cannot be read, "" for the parser's.

    Complexity: one call without bad rows, else O(bad log count) calls.
    """
    spans: list[tuple[int, int, pa.Table]] = []
    bad: list[BadRow] = []
    left = [(0, count)]
    while left:
        low, high = left.pop()
        try:
            spans.append((low, high, parse(low, high)))
        except (Unreadable, pa.ArrowInvalid) as error:
            if high - low <= 1:
                reason = (why(low) if len(bad) < EXPLAINED else "") or str(error)
                bad.append(BadRow(low, reason, raw(low)))
            else:
                middle = (low + high) // 2
                left += [(middle, high), (low, middle)]
    positions = [np.arange(low, high, dtype=np.uint64) for low, high, _ in spans]
    empty = [] if spans else [parse(0, 0)]
    rows = pa.concat_tables([*empty, *(table for _, _, table in spans)])
    return Parsed(rows, np.concatenate([np.empty(0, np.uint64), *positions]), tuple(bad))


def sift(parsed: Parsed, event_time: str, limit: int | None, raw: Callable[[int], bytes]) -> Parsed:
    """Without the rows whose event time is missing, beyond what a clock can have, or later than `limit` [us];
    of numbers since 1970 also without those before `NUMBERS_FROM`.

    Args:
        raw: the bytes of the row at a position.
    """
    column = parsed.rows.column(event_time)
    times: NDArray[np.int64] = column.cast(pa.int64()).fill_null(0).to_numpy()
    unit = unix_unit(parsed.rows.schema.field(event_time))
    last = PLAUSIBLE - 1 if limit is None else min(limit, PLAUSIBLE - 1)
    wrong = (times < (NUMBERS_FROM if unit else 1)) | (times > last)
    if not wrong.any():
        return parsed
    missing: NDArray[np.bool_] = column.is_null().to_numpy()
    bad = list(parsed.bad)
    for i in np.flatnonzero(wrong):
        position = int(parsed.positions[i])
        reason = _reason(event_time, None if missing[i] else int(times[i]), limit, unit)
        ahead = bool(last < times[i] < PLAUSIBLE)
        bad.append(BadRow(position, reason, raw(position), ahead))
    keep = ~wrong
    bad.sort(key=lambda row: -1 if row.position is None else row.position)
    return Parsed(parsed.rows.filter(pa.array(keep)), parsed.positions[keep], tuple(bad))


def _reason(event_time: str, time: int | None, limit: int | None, unit: str) -> str:
    if time is None:
        return f"no {event_time}"
    if unit and not NUMBERS_FROM <= time < PLAUSIBLE:
        return _of_another_unit(event_time, time, unit)
    if 0 < time < PLAUSIBLE and limit is not None:
        return f"{event_time} {_shown(time)} is too far ahead of the wall clock: later than {_shown(limit)}"
    return f"{event_time} is {_shown(time)}; event times must be after 1970-01-01 and before 9990-01-01"


def _of_another_unit(event_time: str, time: int, unit: str) -> str:
    number = time // MICROSECONDS[unit]
    when = f"in {_shown(time)[:4]}" if 0 < time < PLAUSIBLE else "before 1970" if time <= 0 else "after 9989"
    like = [
        name for name, us in MICROSECONDS.items() if name != unit and NUMBERS_FROM <= number * us < PLAUSIBLE
    ]
    guess = f"; is it {' or '.join(like)}?" if like else ""
    return f"{event_time}: {number} {unit} since 1970 is {when}: unixTimes says {unit}{guess}"


def _shown(time: int) -> str:
    """In ISO 8601; as a number where no calendar of Python has it."""
    try:
        return (EPOCH + timedelta(microseconds=time)).isoformat()
    except OverflowError:
        return f"{time} us"
