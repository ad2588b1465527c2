"""A source's next file that is not there: not written yet, not seen yet, behind the end, or gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weir_runtime.logs.folder import Folder
from weir_runtime.names import END, batch_name

LOOK = 10.0
"""[s] without the next file after which the folder is listed, and between two listings: later files tell one
that is missing from one that is not written yet."""

PATIENCE = 60.0
"""[s] for which a missing file may still come, though files on both sides of it say that it is gone: writers
may put theirs in another order."""


@dataclass(frozen=True)
class Absent:
    """What the absence of a reader's next file means: `ended`: no file follows; `later`: those before that
    one are lost; `waits`: for what, in words; `missing`: its number, where later ones are there."""

    ended: bool = False
    later: int | None = None
    waits: str = ""
    missing: int | None = None


class MissingFiles:
    """Of one reader, which asks as long as its next file is not there.

    Args:
        files, form: where the log's files are, and of which form.
        clock: [s], which nobody sets.
    """

    def __init__(self, files: Folder, form: str, clock: Callable[[], float]) -> None:
        self._files = files
        self._form = form
        self._clock = clock
        self._number = -1  # of the file that is waited for
        self._looked = 0.0  # when the folder was listed, or the waiting began
        self._later: int | None = None  # the first file there from then on
        self._missing_since: float | None = None
        self._end_since: float | None = None
        self._at_end = False  # it was listed when nothing more can come

    def look(self, number: int) -> Absent:
        """At every look of a reader; a few questions to the file system."""
        now = self._clock()
        if number != self._number:
            self._number, self._looked, self._later = number, now, None
            self._missing_since, self._at_end = None, False
        end = self._files.has(END)
        if end and self._end_since is None:
            self._end_since = now
        if end and self._end_since is not None and now - self._end_since < (stale := self._files.stale()):
            # Each file was there before END; that it was not may still be what this machine believes.
            return Absent(
                waits=f"{self._shown(END)} is there: for {stale:.0f} s files before it may not be seen"
            )
        if now - self._looked >= LOOK or (end and not self._at_end):
            self._later, self._looked, self._at_end = self._files.first(self._form, number), now, end
        if self._later is None:
            return Absent(ended=end and not self._files.has(self._name(number)))
        return self._gap(number, self._later, end, now) if self._later > number else Absent()

    def _gap(self, number: int, later: int, end: bool, now: float) -> Absent:
        """Where later files are there. One is lost for certain behind END, or when those before it,
        which have been read, are gone too."""
        if self._files.has(self._name(number)):
            return Absent()
        if self._missing_since is None:
            self._missing_since = now
        swept = number > 0 and not self._files.has(self._name(number - 1))
        if end or (swept and now - self._missing_since >= PATIENCE):
            return Absent(later=later)
        waits = f"{self._shown(self._name(number))} is missing, and {self._name(later)} is there"
        return Absent(waits=waits, missing=number)

    def _name(self, number: int) -> str:
        return batch_name(number, self._form)

    def _shown(self, name: str) -> str:
        return self._files.shown(name)
