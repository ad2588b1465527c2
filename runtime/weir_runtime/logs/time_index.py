"""How far event time was before some of a source's files, left by every reader for those that come later: a
plan that begins at a time need not read the files before it."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

from weir_runtime.logs.folder import Folder
from weir_runtime.logs.log import Place
from weir_runtime.names import TIMES, batch_name, read_json, write_whole

NOTE = 10.0
"""[s] between two notes of a reader."""

MOST = 1_000
"""Notes kept: of more, every second one goes."""


class TimeIndex:
    """Notes [number, running maximum before that file [us], bytes of the file before]. They are facts about
    the log, so any reader's may be used, and one that is lost costs only time.

    Args:
        sidelog: the reader's, `late/<namespace>/<fragment>/<alias>`; "" keeps no notes.
        identity: of what is read, and of how its event times are.
        files, form: where the log's files are, and of which form.
    """

    def __init__(self, sidelog: str, identity: object, files: Folder, form: str) -> None:
        name = hashlib.sha256(json.dumps(identity, default=vars, sort_keys=True).encode()).hexdigest()[:16]
        self._file = Path(sidelog).parents[1] / TIMES / f"{name}.json" if sidelog else None
        self._files = files
        self._form = form
        self._note_at = 0.0  # [s, monotonic]

    def note(self, place: Place) -> None:
        """Everything before `place` has been read by a reader of the whole log."""
        if self._file is None or place["max"] is None or time.monotonic() < self._note_at:
            return
        self._note_at = time.monotonic() + NOTE
        size, notes = self._size(place["next"] - 1), self._notes()
        if size is None or any(number == place["next"] for number, *_ in notes):
            return
        notes = sorted([*notes, (place["next"], place["max"], size)])
        while len(notes) > MOST:
            notes = notes[::2]
        write_whole(self._file, json.dumps(notes))

    def before(self, after: int) -> tuple[int, int] | None:
        """The last file known before which nothing is later than `after` [us], and the running maximum there.
        A log that was emptied and begun anew has other files: its notes count for nothing."""
        for number, maximum, size in reversed(self._notes()):
            if maximum <= after and self._holds(number, size):
                return number, maximum
        return None

    def _holds(self, number: int, size: int) -> bool:
        there = self._size(number - 1)
        return there == size if there is not None else self._size(number) is not None

    def _size(self, number: int) -> int | None:
        return self._files.size(batch_name(number, self._form))

    def _notes(self) -> list[tuple[int, int, int]]:
        notes = read_json(self._file) if self._file else None
        return [(number, maximum, size) for number, maximum, size in notes or ()]
