"""Where rows go that cannot be read, so that a query need not stop for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import pyarrow as pa
from weir_placement.model.fragment import Input
from weir_placement.model.location import STORE, files_location

from weir_runtime.bodies import on_disk, write_parquet
from weir_runtime.durable import put_in_place
from weir_runtime.logs.bad_rows import BadRow
from weir_runtime.logs.log import Place
from weir_runtime.side_log import BAD

MAX_AHEAD = 86_400_000_000
"""[us] of a stream that does not say how far ahead of the wall clock its rows may be."""

SCHEMA = pa.schema(
    [("source", pa.string()), ("offset", pa.int64()), ("reason", pa.string()), ("row", pa.binary())]
)


PositionUnit = Literal["row", "offset"]
UNIT = "weir.position"
"""In a letters' schema: what `offset` is, a topic's offset or a file's row."""


def in_words(position: int | None, unit: str) -> str:
    """For messages, behind what a row is from: people count rows from 1, as editors do lines.

    >>> in_words(0, "row"), in_words(7, "offset"), in_words(None, "row")
    (', row 1', ', offset 7', '')
    """
    return "" if position is None else f", {unit} {position + (unit == 'row')}"


class DeadLetters(Protocol):
    """A place for bad rows. Can be sent to other processes."""

    def put(self, name: str, letters: pa.Table) -> None:
        """Keeps the letters (`SCHEMA`) of one part of a log; again, with the same name, at each replay."""


class FolderLetters:
    """Parquet files in a folder, exactly once."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def put(self, name: str, letters: pa.Table) -> None:
        """As `<name>.parquet`."""
        put_in_place(self._folder / f"{name}.parquet", lambda path: write_parquet(path, letters))


class StoreLetters:
    """Parquet objects below a URI, exactly once."""

    def __init__(self, uri: str, options: Mapping[str, Any]) -> None:
        from weir_runtime.store import ObjectStore

        self._store = ObjectStore(uri, options)

    def put(self, name: str, letters: pa.Table) -> None:
        """As `<name>.parquet`; a file of that name has the same rows."""
        self._store.create(f"{name}.parquet", on_disk(lambda file: write_parquet(file, letters)))


class TopicLetters:
    """Messages as they were, at least once: the key is what they are from, headers say the rest."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = dict(options)

    def put(self, name: str, letters: pa.Table) -> None:
        """Returns when the brokers have all of them. Raises KafkaError."""
        from kafka import KafkaProducer

        from weir_runtime.kafka_clients import client_settings

        producer = KafkaProducer(**client_settings(self._options), acks="all", linger_ms=5)
        try:
            futures = [producer.send(self._options["topic"], **_message(row)) for row in letters.to_pylist()]
            for future in futures:
                future.get(timeout=60)
        finally:
            producer.close()


def _message(letter: Mapping[str, Any]) -> dict[str, Any]:
    at = "" if letter["offset"] is None else str(letter["offset"])
    about = {"weir-source": letter["source"], "weir-offset": at, "weir-reason": letter["reason"]}
    return {
        "key": f"{letter['source']}:{at}".encode(),
        "value": letter["row"],
        "headers": [(name, text.encode()) for name, text in about.items()],
    }


class BadRowError(ValueError):
    """A row that cannot be read, of a stream whose policy is Fail."""


@dataclass(frozen=True)
class BadRows:
    """What a stream's source does with rows that cannot be read.

    Attributes:
        letters: where they go; None: nowhere.
        fail: the first one ends the query instead.
        ahead: [us] event times further ahead of the wall clock are bad; 0: none is.
        unit: what a bad row's position is.
    """

    letters: DeadLetters | None = None
    fail: bool = False
    ahead: int = 0
    unit: PositionUnit = "row"

    def limit(self, now: int) -> int | None:
        """[us] Later event times are bad at a time of day. What was decided by it is part of the place."""
        return now + self.ahead if self.ahead else None

    def behind(self, place: Place, bad: int, limit: int | None, now: int) -> Place:
        """A place with the count of bad rows before it, the limit that decided them, and the time of day
        then; none of these where there are no bad rows, or no limit."""
        total = place.get("bad", 0) + bad
        place = {key: value for key, value in place.items() if key not in ("bad", "limit", "wall")}
        by = {"limit": limit, "wall": now} if limit else {}
        return {**place, **({"bad": total} if total else {}), **by}

    def check(self, bad: Sequence[BadRow], source: str) -> None:
        """Raises BadRowError for the first of them if the policy is Fail."""
        if bad and self.fail:
            where = in_words(bad[0].position, self.unit)
            raise BadRowError(f"{source}{where}: {bad[0].reason} (onBadRow: Fail)")

    def put(self, name: str, source: str, bad: Sequence[BadRow]) -> None:
        """Keeps them under a name, which says what part of the log they are from."""
        self.check(bad, source)
        if bad and self.letters:
            columns = zip(*((source, row.position, row.reason, row.raw) for row in bad), strict=True)
            schema = SCHEMA.with_metadata({UNIT: self.unit})
            self.letters.put(name, pa.table(list(map(list, columns)), schema=schema))


def bad_rows_of(item: Input, sidelog: str) -> BadRows:
    """By the stream's settings; by default, bad rows go to the side log."""
    settings, ahead = item.bad_rows, MAX_AHEAD if item.max_ahead is None else item.max_ahead
    letters = _letters(item, sidelog)
    unit: PositionUnit = "offset" if "kafka" in item.source else "row"
    return BadRows(letters, settings.get("onBadRow") == "Fail", ahead, unit)


def letters_folder(item: Input, sidelog: str) -> Path | None:
    """Where the dead letters of an input lie, whose side log is `sidelog`; None: in no folder."""
    place = item.bad_rows.get("deadLetter")
    if place is None:
        return Path(sidelog) / BAD if sidelog else None
    files = files_location(place["files"]) if "files" in place else None
    return Path(files.address) / _own(sidelog) if files and files.kind != STORE else None


def _letters(item: Input, sidelog: str) -> DeadLetters | None:
    if folder := letters_folder(item, sidelog):
        return FolderLetters(str(folder))
    place = item.bad_rows.get("deadLetter")
    if place is None:
        return None
    kind, options = next(iter(place.items()))
    if kind == "kafka":
        return TopicLetters(options)
    files = files_location(options)
    return StoreLetters(f"{files.address}/{_own(sidelog)}", files.options)


def _own(sidelog: str) -> str:
    """Of all the readers of a stream, this one: `<fragment>/<input>`, as in the path of its side log."""
    return "/".join(Path(sidelog).parts[-2:])
