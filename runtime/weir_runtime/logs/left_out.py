"""Parts of a source's log in which rows were too far ahead of the wall clock, and what was allowed there.

A reader decides that by the clock of then. A changed plan reads the same rows later: by its own clock it
would accept what was left out, its running maximum would jump, and the rows up to there would be late.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from weir_runtime.logs import notes
from weir_runtime.logs.notes import Notes


@dataclass(frozen=True)
class Part:
    """Of a log, as one reader took it at once.

    Attributes:
        first, beyond: positions: a file's number; of a topic offsets by partition.
        limit: [us] nothing later was read in it, and what was left out is later.
        of: what tells the log from another one in its place: a file's size [bytes], a topic's id.
    """

    first: Any
    beyond: Any
    limit: int
    of: int | str


class LeftOut:
    """The parts that readers of one log with one `maxAhead` know of, written before a batch of them runs.

    Args:
        sidelog, identity: as of `Notes`.
        ahead: [us] how far ahead of the wall clock a row may be.
    """

    def __init__(self, sidelog: str, identity: object, ahead: int) -> None:
        self._notes = Notes(sidelog, ["left out", identity, ahead])
        self._known: list[Part] = []
        self._look_at = 0.0  # [s, monotonic]

    def note(self, part: Part) -> None:
        """Where there is no room, neighbours are merged, the older ones first: with the greater limit, so
        that no row is left out that was read."""
        parts = self._read()
        if any((each.first, each.beyond, each.of) == (part.first, part.beyond, part.of) for each in parts):
            return
        parts = sorted([*parts, part], key=lambda each: _order(each.first))
        while len(parts) > notes.MOST:
            older = max(2, len(parts) // 2)
            parts = [*_merged(parts[:older]), *parts[older:]]
        self._notes.put([vars(each) for each in parts])
        self._known = parts

    def parts(self) -> list[Part]:
        """In the order of the log, as of `notes.NOTE` seconds ago at most."""
        if time.monotonic() >= self._look_at:
            self._known = self._read()
            self._look_at = time.monotonic() + notes.NOTE
        return self._known

    def _read(self) -> list[Part]:
        return [Part(**part) for part in self._notes.all()]


def _merged(parts: list[Part]) -> Iterable[Part]:
    for i in range(0, len(parts), 2):
        pair = parts[i : i + 2]
        last = max(pair, key=lambda each: _order(each.beyond))
        yield Part(pair[0].first, last.beyond, max(each.limit for each in pair), last.of)


def _order(position: Any) -> int:
    return position if isinstance(position, int) else sum(position.values())
