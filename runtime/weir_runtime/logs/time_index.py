"""How far event time was before some of a source's files."""

from __future__ import annotations

from weir_runtime.logs.folder import Folder
from weir_runtime.logs.log import Place
from weir_runtime.logs.notes import Notes
from weir_runtime.names import batch_name


class TimeIndex:
    """Notes [number, running maximum before that file [us], bytes of the file before].

    Args:
        sidelog, identity: as of `Notes`.
        files, form: where the log's files are, and of which form.
    """

    def __init__(self, sidelog: str, identity: object, files: Folder, form: str) -> None:
        self._notes = Notes(sidelog, identity)
        self._files = files
        self._form = form

    def note(self, place: Place) -> None:
        """Everything before `place` has been read by a reader of the whole log."""
        if place["max"] is None or not self._notes.due():
            return
        size, notes = self._size(place["next"] - 1), self._all()
        if size is None or any(number == place["next"] for number, *_ in notes):
            return
        self._notes.put(sorted([*notes, (place["next"], place["max"], size)]))

    def before(self, after: int) -> tuple[int, int] | None:
        """The last file known before which nothing is later than `after` [us], and the running maximum there.
        A log that was emptied and begun anew has other files: its notes count for nothing."""
        for number, maximum, size in reversed(self._all()):
            if maximum <= after and self.holds(number, size):
                return number, maximum
        return None

    def holds(self, number: int, size: object) -> bool:
        """Whether the file before that of a number is the one that had this size, or is gone."""
        there = self._size(number - 1)
        return there == size if there is not None else self._size(number) is not None

    def _size(self, number: int) -> int | None:
        return self._files.size(batch_name(number, self._form))

    def _all(self) -> list[tuple[int, int, int]]:
        return [(number, maximum, size) for number, maximum, size in self._notes.all()]
