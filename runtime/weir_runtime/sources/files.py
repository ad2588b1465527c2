"""A source of dense, numbered files that a user writes, in a folder or on an object store."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet as pq
from numpy.typing import NDArray
from weir_placement.model.fragment import FOREVER, FragmentError, Input
from weir_placement.model.location import Location, files_location

from weir_runtime.logs.batches import batch_rows, dense, write_batch
from weir_runtime.logs.folder import folder_at
from weir_runtime.logs.lateness import check_times, clock_after, on_time
from weir_runtime.logs.log import BATCH_BYTES, Advance, Log, Place, row_ids
from weir_runtime.logs.time_index import TimeIndex
from weir_runtime.names import END, batch_name

MOST_ROWS = 100_000
"""Of the files that one batch reads, or of one of them where that alone has more."""

ROW_BITS = 24
"""A row id is the file's number and the row's position in it: at most 16,777,216 rows a file."""


FORMATS = ("parquet", "arrow", "json", "csv")


def open_log(
    item: Input, options: Mapping[str, Any], schema: pa.Schema, sidelog: str, ahead: Path | None
) -> Log:
    """Of `source.files`. Raises FragmentError."""
    form = options.get("format", "parquet")
    if form not in FORMATS:
        raise FragmentError(
            f"input {item.name}: source.files.format: {form!r}; give one of {', '.join(FORMATS)}"
        )
    if "uri" not in options:
        raise FragmentError(f"input {item.name}: source.files.uri: missing")
    files = files_location(options)
    return FileLog(files, form, schema, item.event_time, item.delay, sidelog, item.start, item.after)


class FileLog(Log):
    """`place` is {"next": the next file's number, "max": running maximum of the event time before it [us]}.

    Args:
        files: where they are.
        form: parquet, arrow, json (lines) or csv.
        schema: the stream's columns, under the names in the files.
        event_time: one of them, of type timestamp.
        delay: watermark delay [us].
        sidelog: folder for late rows; "" for none.
        start: number of the first file to read.
        after: event time [us]: files before the first one with a later row are not read.
    """

    def __init__(
        self,
        files: Location,
        form: str,
        schema: pa.Schema,
        event_time: str,
        delay: int,
        sidelog: str,
        start: int = 0,
        after: int = 0,
    ) -> None:
        self._folder = folder_at(files)
        self._form = form
        self._rows = schema
        self._event_time = event_time
        self._delay = delay
        self._sidelog = sidelog
        self._start = start
        self._after = after
        identity = [files.address, files.options.get("endpoint"), form, event_time]
        self._index = TimeIndex(sidelog, identity, self._folder, form)
        self._seen: dict[int, tuple[int | None, int]] = {}
        self.schema = schema.append(pa.field("_id", pa.binary()))

    def start(self) -> Place:
        """The first file; with `after`, the first whose running maximum exceeds it, with the maximum before
        it, so that lateness is decided as by a reader of the whole log. O(files since the last
        note before it).

        Files that were deleted are passed over, and it is said. Raises ValueError when among them may be some
        that `after` needs.
        """
        number, maximum = self._index.before(self._after) or (self._start, None)
        expected, number = number, self._first_from(number)
        first = number
        while self._after and self._has(number):
            newest, _ = self._look(number)
            if newest is not None and newest > self._after:
                break
            maximum = newest if maximum is None else max(maximum, newest or maximum)
            number += 1
        if self._after and expected < number == first:
            raise ValueError(
                f"{self._shown(expected)}: is gone, as those up to {self._name(first)}; their rows may be "
                f"later than {self._after} us, from where the changed query needs them. Delete the query "
                "and apply it again: it then begins with the files that are left"
            )
        return {"next": number, "max": maximum}

    def advance(self, place: Place, clock: int, most: int, room: int = BATCH_BYTES) -> Advance:
        """Reads the event times of new files, to know the running maximum behind them. All rows of a batch
        are in state before any of them may go, and files are small beside it: so they are counted too."""
        number, maximum, left = place["next"], place["max"], MOST_ROWS
        while number < place["next"] + most and (size := self._folder.size(self._name(number))) is not None:
            if size > room and number > place["next"]:
                break
            newest, rows = self._look(number)
            if rows > left and number > place["next"]:
                break
            room, left = room - size, left - rows
            if newest is not None:
                maximum = newest if maximum is None else max(maximum, newest)
            number += 1
        ended = self._folder.has(END) and not self._has(number)
        clock = FOREVER if ended else clock_after(maximum, self._delay)
        return Advance({"next": number, "max": maximum}, clock, ended)

    def committed(self, place: Place) -> None:
        """Leaves a note of it."""
        if not self._start:
            self._index.note(place)

    def backlog(self, place: Place) -> int:
        """Files that wait."""
        return self._waiting(place["next"])

    def late(self, start: Place | None, end: Place) -> int:
        """From the side log."""
        if not self._sidelog:
            return 0
        numbers = range(start["next"] if start else self._start, end["next"])
        paths = (Path(self._sidelog) / batch_name(number, "arrow") for number in numbers)
        return sum(batch_rows(path) for path in paths if path.exists())

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Rows on time; the others go to the side log, under the number of their file."""
        maximum = start["max"]
        for number in range(start["next"], end["next"]):
            table = self._table(number)
            times = self._times(table, number)
            keep = on_time(times, maximum, self._delay)
            ids = row_ids(number, np.arange(len(times), dtype=np.uint64), ROW_BITS)
            table = table.append_column("_id", ids)
            if not keep.all():
                self._set_aside(table.filter(pa.array(~keep)), number)
                table = table.filter(pa.array(keep))
            if len(times):
                maximum = int(times.max()) if maximum is None else max(maximum, int(times.max()))
            yield from table.to_batches()

    def whole(self) -> pa.Table:
        """Every row of the log, late ones too, in its order. Raises ValueError for a log without an end."""
        if not self._folder.has(END):
            raise ValueError(f"{self._folder.shown(END)}: no such file; the log may still grow")
        count = self._waiting(self._start)
        tables = [self._table(number) for number in range(self._start, self._start + count)]
        return pa.concat_tables([self._rows.empty_table(), *tables])

    def _name(self, number: int) -> str:
        return batch_name(number, self._form)

    def _shown(self, number: int) -> str:
        return self._folder.shown(self._name(number))

    def _has(self, number: int) -> bool:
        return self._folder.has(self._name(number))

    def _first_from(self, number: int) -> int:
        """The file itself; where it is not there, but later ones are, the first of them: those before it were
        deleted. Looked for by a listing."""
        first = None if self._has(number) else self._folder.first(self._form)
        if first is None or first <= number or self._has(number):
            return number
        print(f"{self._shown(number)}: is gone; reading begins at {self._name(first)}", file=sys.stderr)
        return first

    def _waiting(self, first: int) -> int:
        return dense(lambda i: self._has(first + i))

    def _table(self, number: int, columns: list[str] | None = None) -> pa.Table:
        schema = self._rows if columns is None else pa.schema([self._rows.field(c) for c in columns])
        with self._folder.open(self._name(number)) as file:
            table = self._parsed(file, schema.names)
        missing = [name for name in schema.names if name not in table.column_names]
        if missing:
            raise ValueError(
                f"{self._folder.shown(self._name(number))}: no column {', '.join(missing)}; it has "
                f"{', '.join(table.column_names)}"
            )
        return table.select(schema.names).cast(schema)

    def _parsed(self, file: pa.NativeFile, columns: list[str]) -> pa.Table:
        """At least these columns; all that there are when one is not among them."""
        if self._form == "arrow":
            return pa.ipc.open_file(file).read_all()
        if self._form == "parquet":
            with pq.ParquetFile(file) as parquet:
                there = set(columns) <= set(parquet.schema_arrow.names)
                return parquet.read(columns if there else None, use_threads=False)
        if self._form == "csv":
            convert = pyarrow.csv.ConvertOptions(column_types=_naive(self._rows), strings_can_be_null=True)
            return pyarrow.csv.read_csv(file, convert_options=convert)
        if file.size() == 0:
            return self._rows.empty_table()
        options = pyarrow.json.ParseOptions(explicit_schema=_naive(self._rows))
        return pyarrow.json.read_json(file, parse_options=options)

    def _times(self, table: pa.Table, number: int) -> NDArray[np.int64]:
        column = table.column(self._event_time)
        if column.null_count:
            shown = self._folder.shown(self._name(number))
            raise ValueError(f"{shown}: {column.null_count} rows without {self._event_time}")
        times: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
        check_times(times, self._folder.shown(self._name(number)))
        return times

    def _look(self, number: int) -> tuple[int | None, int]:
        """The newest event time of a file, and its rows."""
        if number not in self._seen:
            times = self._times(self._table(number, [self._event_time]), number)
            self._seen = {number: (int(times.max()) if len(times) else None, len(times))}
        return self._seen[number]

    def _set_aside(self, late: pa.Table, number: int) -> None:
        if self._sidelog:
            write_batch(Path(self._sidelog) / batch_name(number, "arrow"), late)


def _naive(schema: pa.Schema) -> pa.Schema:
    """Text has times without a zone: they are UTC."""
    return pa.schema(
        [pa.field(f.name, pa.timestamp("us") if pa.types.is_timestamp(f.type) else f.type) for f in schema]
    )
