"""What a fragment has read and written since it began: for the state file of one whose inputs have ended."""

from __future__ import annotations

from typing import Any

from weir_placement.model.fragment import FragmentSpec


class Balance:
    """Rows of each source, and of the output. Late, bad and lost ones are known from the log; the others are
    counted as batches are, so that what an earlier process has read is missing: `complete` says so."""

    def __init__(self, spec: FragmentSpec) -> None:
        self._streams = {item.name: item.stream for item in spec.inputs if item.kind == "source"}
        self._rows = {name: {"used": 0, "late": 0, "bad": 0, "lost": 0} for name in self._streams}
        self._written = 0
        self._batches = 0

    def batch(self, **used: int) -> None:
        """One more batch, by input the rows that the operators saw."""
        self._batches += 1
        for name, rows in used.items():
            self.add(name, used=rows)

    def add(self, name: str, **rows: int) -> None:
        """Of an input that is a source: rows that were late, bad or lost."""
        for kind, number in rows.items() if name in self._rows else ():
            self._rows[name][kind] += number

    def write(self, rows: int) -> None:
        """A batch is published."""
        self._written += rows

    def stored(self, batches: int) -> dict[str, Any]:
        """After so many batches in all."""
        complete = self._batches == batches
        sources = [{"stream": stream, **self._rows[name]} for name, stream in self._streams.items()]
        return {"sources": sources, "written": self._written, "complete": complete}
