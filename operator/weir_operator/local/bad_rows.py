"""Rows that no query can read: the first are told while `weir run` runs, `weir query --bad` shows all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import Input
from weir_runtime.logs.dead_letters import UNIT, in_words, letters_folder
from weir_runtime.side_log import BAD

from weir_operator.local.results import FolderSinkReader, ResultRow, RunResults


def bad_rows(run_folder: Path) -> Iterator[str]:
    """The first dead letter of each reader of a stream in a run folder, and where the others are. Those of
    streams that name another `deadLetter` are not looked at.

    Complexity: one listing of each reader's folder, one file of it read.
    """
    for folder in sorted(run_folder.glob(f"late/*/*/*/{BAD}")):
        files = sorted(folder.glob("*.parquet"))
        if files:
            letters = pq.ParquetFile(files[0]).read()
            letter = letters.slice(0, 1).to_pylist()[0]
            unit = _unit(letters)
            where = f"{letter['source']}{in_words(letter['offset'], unit)}"
            yield f"{where}: {letter['reason']}; rows that cannot be read go to {folder}"


def _unit(letters: pa.Table) -> str:
    return str((letters.schema.metadata or {}).get(UNIT.encode(), b"row").decode())


class BadRowReader:
    """The dead letters of a query's inputs, as they come, where these are files of a folder. Of plans before
    an edit those beside their side logs: in what folder of a `deadLetter` theirs are, nothing says any more.
    """

    def __init__(self, results: RunResults) -> None:
        self._results = results
        self._readers: dict[Path, FolderSinkReader] = {}
        self._shown: set[tuple[str, str, int | None]] = set()  # input's name, source, position
        self.elsewhere: dict[str, str] = {}
        """By stream whose bad rows are not read here: where its `deadLetter` sends them."""

    def new_rows(self) -> Iterator[ResultRow]:
        """Those that have come since the last call: `stream`, `source`, `row` (from 1) or `offset`, `reason`
        and the row's `text`. What plans before an edit have left out is among them, each row once: an edit
        reads some rows again. A stream that the query reads under two names has them twice."""
        streams: dict[str, str] = {}
        for spec in self._results.fragments():
            for item in (item for item in spec.inputs if item.kind == "source"):
                streams[item.name] = item.stream
                folder = letters_folder(item, str(Path(spec.sidelog) / item.name))
                if folder is None:
                    self.elsewhere[item.stream] = _address(item)
                else:
                    yield from self._new_of(folder, item.name, item.stream)
        for folder in self._results.side_logs():
            for letters in sorted(folder.glob(f"*/{BAD}")):
                name = letters.parent.name
                yield from self._new_of(letters, name, streams.get(name, name))

    def _new_of(self, folder: Path, name: str, stream: str) -> Iterator[ResultRow]:
        reader = self._readers.setdefault(folder, FolderSinkReader(folder))
        for letters in reader.new_tables():
            for letter in _shown(letters, stream):
                place = (name, letter["source"], letter.get("row", letter.get("offset")))
                if place not in self._shown:
                    self._shown.add(place)
                    yield letter


def _address(item: Input) -> str:
    place = item.bad_rows["deadLetter"]
    return f"topic {place['kafka']['topic']}" if "kafka" in place else str(place["files"]["uri"])


def _shown(letters: pa.Table, stream: str) -> Iterator[ResultRow]:
    unit = _unit(letters)
    for letter in letters.to_pylist():
        position, raw = letter["offset"], letter["row"]
        yield {
            "stream": stream,
            "source": letter["source"],
            **({} if position is None else {unit: position + (unit == "row")}),
            "reason": letter["reason"],
            "text": None if raw is None else raw.decode(errors="replace"),
        }
