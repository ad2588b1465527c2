"""Facts about a source's log that its readers leave for those that come later: how far event time was before
some of its places. A plan that begins at a time need not read what is before it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from weir_placement.model.identity import digest

from weir_runtime.names import TIMES, read_json, write_whole

NOTE = 10.0
"""[s] between two notes of a reader."""

MOST = 1_000
"""Notes kept: of more, every second one goes."""


class Notes:
    """A list of JSON values in the order of the log. They are facts, so any reader's may be used, and one
    that is lost, as when two readers write at once, costs only time.

    Args:
        sidelog: the reader's, `late/<namespace>/<fragment>/<alias>`; "" keeps no notes.
        identity: of what is read, and of how its event times are.
    """

    def __init__(self, sidelog: str, identity: object) -> None:
        self._file = Path(sidelog).parents[1] / TIMES / f"{digest(identity, 16)}.json" if sidelog else None
        self._note_at = 0.0  # [s, monotonic]

    def due(self) -> bool:
        """Whether the last note was long enough ago; then the next one is not."""
        if self._file is None or time.monotonic() < self._note_at:
            return False
        self._note_at = time.monotonic() + NOTE
        return True

    def all(self) -> list[Any]:
        """In the order of the log."""
        return (read_json(self._file) if self._file else None) or []

    def put(self, notes: list[Any]) -> None:
        """These alone."""
        while len(notes) > MOST:
            notes = notes[::2]
        if self._file:
            write_whole(self._file, json.dumps(notes))
