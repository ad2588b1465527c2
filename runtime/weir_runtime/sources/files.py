"""A source of dense, numbered files that a user writes, in a folder or on an object store."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from weir_placement.model.fragment import FOREVER, FragmentError, Input
from weir_placement.model.location import Location, files_location

from weir_runtime.arrow_types import event_times
from weir_runtime.logs.bad_rows import BadRow, Parsed
from weir_runtime.logs.batches import dense, write_batch
from weir_runtime.logs.dead_letters import BadRows, bad_rows_of
from weir_runtime.logs.file_rows import FORMATS, FileRows, file_row_ids
from weir_runtime.logs.folder import folder_at
from weir_runtime.logs.lateness import behind_late, clock_after, on_time
from weir_runtime.logs.left_out import LeftOut, Part
from weir_runtime.logs.log import ROOM, Advance, Log, Place, Room
from weir_runtime.logs.losses import Losses
from weir_runtime.logs.missing_files import Absent, MissingFiles
from weir_runtime.logs.time_index import TimeIndex
from weir_runtime.logs.wall_clock import WallClock
from weir_runtime.names import END, batch_name

LOOK = 0.5
"""[s] between two looks for where a log begins, while its store does not answer."""


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
    bad_rows = bad_rows_of(item, sidelog)
    losses = Losses("files", files.address, options.get("onDataLoss", "Fail"))
    return FileLog(
        files, form, schema, item.event_time, item.delay, sidelog, item.start, item.after, bad_rows, losses
    )


@dataclass(frozen=True)
class Look:
    """Of a file: its newest event time [us], its rows, how many more are bad, by which limit [us], and
    whether a later limit might allow one of these; how many are late behind which running maximum [us]."""

    newest: int | None
    rows: int
    bad: int
    limit: int | None
    ahead: bool
    late: int
    before: int | None


class FileLog(Log):
    """`place` is {"next": the next file's number, "max": running maximum of the event time before it [us]};
    when there are any, "bad", "late": rows before it that cannot be read, that came too late; with
    `maxAhead`, "limit": the event time [us] beyond which a row between the place before and this one is bad,
    and "wall": the time of day [us] then; "jump": the files between the place before and this one are gone;
    "lost_files": how many of those before it are.

    Args:
        files: where they are.
        form: parquet, arrow, json (lines) or csv.
        schema: the stream's columns, under the names in the files.
        event_time: one of them, of type timestamp.
        delay: watermark delay [us].
        sidelog: folder for late rows; "" for none.
        start: number of the first file to read.
        after: event time [us]: files before the first one with a later row are not read.
        bad_rows: what is done with rows that cannot be read.
        losses: what is done about files that were deleted before they were read; by default Fail.
        clock: [s], which nobody sets.
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
        bad_rows: BadRows = BadRows(),  # noqa: B008 - it is frozen
        losses: Losses | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder_at(files)
        self._form = form
        self._file_rows = FileRows(form, schema, event_time)
        self._event_time = event_time
        self._delay = delay
        self._sidelog = sidelog
        self._start = start
        self._after = after
        identity = [files.address, files.options.get("endpoint"), form, event_time, str(schema)]
        self._index = TimeIndex(sidelog, identity, self._folder, form)
        self._left_out = LeftOut(sidelog, identity, bad_rows.ahead)
        self._bad_rows = bad_rows
        self._wall = WallClock(files.address)
        self._losses = losses or Losses("files", files.address, "Fail")
        self._missing = MissingFiles(self._folder, form, clock)
        self._looks: dict[int, Look] = {}
        self.schema = schema.append(pa.field("_id", pa.binary()))

    def start(self) -> Place:
        """The first file; with `after`, the first whose running maximum exceeds it, with the maximum before
        it, so that lateness is decided as by a reader of the whole log. O(files since the last
        note before it).

        Files that were deleted are skipped, with a message. Raises DataLoss when among them may be some that
        `after` needs, unless `onDataLoss` is Continue.
        """
        while True:
            with self._folder.waiting():
                return self._start_now()
            time.sleep(LOOK)

    def _start_now(self) -> Place:
        number, maximum = self._index.before(self._after) or (self._start, None)
        expected, number = number, self._first_from(number)
        first, passed = number, False
        limit = self._bad_rows.limit(self._wall.now({}))
        while self._after and self._has(number):
            newest = self._look(number, self._allowed(number, 1, limit)[0], maximum).newest
            if newest is not None and newest > self._after:
                break
            passed = passed or newest is not None
            maximum = newest if maximum is None else max(maximum, newest or maximum)
            number += 1
        if self._after and expected < first and not passed:
            self._losses.check(
                f"{self._shown(expected)} is gone, like all files before {self._name(first)}; their rows "
                f"may be later than {self._after} us, so the changed query may need them. Delete the query "
                "and apply it again: it then begins with the files that remain"
            )
        return {"next": number, "max": maximum}

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """Reads the event times of new files, to know the running maximum behind them. A store that does not
        answer has nothing new."""
        with self._folder.waiting():
            return self._advance_now(place, clock, most, room)
        return Advance(place, clock, False)

    def _advance_now(self, place: Place, clock: int, most: int, room: Room) -> Advance:
        number, maximum = place["next"], place["max"]
        now = self._wall.now(place)
        limit, beyond = self._allowed(number, most, self._bad_rows.limit(now))
        bad, late, ahead, last_size = 0, 0, False, 0
        while number < beyond and (size := self._folder.size(self._name(number))) is not None:
            if room.after(size, 0) is None:
                break
            look = self._look(number, limit, maximum)
            if (left := room.after(size, look.rows)) is None:
                break
            room = left
            if look.newest is not None:
                maximum = look.newest if maximum is None else max(maximum, look.newest)
            bad, late, ahead, last_size = bad + look.bad, late + look.late, ahead or look.ahead, size
            number += 1
        here = {name: value for name, value in place.items() if name != "jump"}
        absent = Absent() if self._has(number) else self._missing.look(number)
        new = clock_after(maximum, self._delay) if not absent.ended else FOREVER
        if number > place["next"]:
            if ahead and limit is not None:
                least = limit if maximum is None else min(limit, maximum)
                self._left_out.note(Part(place["next"], number, least, last_size))
            behind = behind_late({**here, "next": number, "max": maximum}, late)
            behind = self._bad_rows.behind(behind, bad, limit, now)
            return Advance(behind, new, absent.ended)
        if absent.later is not None:
            return Advance(self._behind_gap(here, absent.later), clock, False)
        return Advance(place, new, absent.ended, absent.waits, absent.missing)

    def _behind_gap(self, place: Place, later: int) -> Place:
        """Raises DataLoss, unless `onDataLoss` is Continue."""
        number = place["next"]
        name, others = self._name(number), f"like all before {self._name(later)}"
        gone = f"{name} was deleted before it was read"
        if number == self._start or self._has(number - 1):  # only the end tells that it will not come
            gone = f"{name} is missing, though {self._name(later)} and {END} are there"
        self._losses.check(f"{gone}, {others}" if later > number + 1 else gone)
        lost = place.get("lost_files", 0) + later - number
        return {**place, "next": later, "jump": True, "lost_files": lost}

    def committed(self, place: Place) -> None:
        """Leaves a note of it."""
        with self._folder.waiting():
            if not self._start:
                self._index.note(place)

    def backlog(self, place: Place) -> int:
        """Files that wait."""
        with self._folder.waiting():
            return self._waiting(place["next"])
        return 0

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Rows on time; the others go to the side log, under the number of their file, and those that cannot
        be read to the dead letters."""
        maximum = start["max"]
        for number in range(start["next"], end["next"]) if "jump" not in end else ():
            if not self._is_left(number):
                continue
            bad: list[BadRow] = []
            late: list[pa.Table] = []
            for parsed in self._pieces(number, end.get("limit")):
                bad += parsed.bad
                times = event_times(parsed.rows, self._event_time)
                keep = on_time(times, maximum, self._delay)
                table = parsed.rows.append_column("_id", file_row_ids(number, parsed.positions))
                if not keep.all():
                    late.append(table.filter(pa.array(~keep)))
                    table = table.filter(pa.array(keep))
                maximum = _later(maximum, times)
                yield from table.to_batches()
            self._bad_rows.put(f"{number:010d}", self._shown(number), bad)
            if late:
                self._set_aside(pa.concat_tables(late), number)

    def whole(self) -> pa.Table:
        """Every row of the log, late ones too, in its order. Raises ValueError for a log without an end."""
        if not self._folder.has(END):
            raise ValueError(f"{self._folder.shown(END)}: no such file; the log may still grow")
        count = self._waiting(self._start)
        numbers = range(self._start, self._start + count)
        tables = [piece.rows for number in numbers for piece in self._pieces(number, None)]
        return pa.concat_tables([self._file_rows.schema.empty_table(), *tables])

    def _name(self, number: int) -> str:
        return batch_name(number, self._form)

    def _shown(self, number: int) -> str:
        return self._folder.shown(self._name(number))

    def _has(self, number: int) -> bool:
        return self._folder.has(self._name(number))

    def _is_left(self, number: int) -> bool:
        """Whether a file of a planned batch is there. Raises DataLoss, unless `onDataLoss` is Continue."""
        if there := self._has(number):
            return there
        self._losses.check(f"{self._name(number)} of a batch that was not committed is gone")
        return False

    def lost_files(self, start: Place | None, end: Place) -> int:
        """Those that were jumped over."""
        return int(end.get("lost_files", 0) - (start or {}).get("lost_files", 0))

    def _first_from(self, number: int) -> int:
        """The file itself; where it is not there, but later ones are, the first of them: those before it were
        deleted. Looked for by a listing."""
        first = None if self._has(number) else self._folder.first(self._form, number)
        if first is None or first <= number or self._has(number):
            return number
        print(f"{self._shown(number)} is gone; reading begins at {self._name(first)}", file=sys.stderr)
        return first

    def _waiting(self, first: int) -> int:
        return dense(lambda i: self._has(first + i))

    def _pieces(self, number: int, limit: int | None, whole: bool = True) -> Iterator[Parsed]:
        return self._file_rows.pieces(lambda: self._folder.open(self._name(number)), limit, whole)

    def _look(self, number: int, limit: int | None, maximum: int | None) -> Look:
        """What a file is for whoever decides how far a batch goes. One that did not fit is not read again
        where the later limit cannot change anything."""
        look = self._looks.get(number)
        same = look and look.before == maximum and not look.bad
        if look and same and (limit or 0) >= (look.limit or 0):
            return look
        newest, before, rows, bad, late, ahead = None, maximum, 0, 0, 0, False
        for parsed in self._pieces(number, limit, whole=False):
            self._bad_rows.check(parsed.bad, self._shown(number))
            times = event_times(parsed.rows, self._event_time)
            late += int(np.count_nonzero(~on_time(times, before, self._delay)))
            newest, before = _later(newest, times), _later(before, times)
            rows, bad, ahead = rows + len(times), bad + len(parsed.bad), ahead or parsed.ahead()
        look = Look(newest, rows, bad, limit, ahead, late, maximum)
        self._looks = {number: look}
        return look

    def _allowed(self, number: int, most: int, limit: int | None) -> tuple[int | None, int]:
        """[us] Later event times in a file are bad: by the clock, or readers before have left them out. And
        up to which file that is so, at most `most` on."""
        part = self._part(number, most)
        if part is None:
            return limit, number + most
        if part.first > number:
            return limit, min(part.first, number + most)
        return None if limit is None else min(limit, part.limit), min(part.beyond, number + most)

    def _part(self, number: int, most: int) -> Part | None:
        """The first one known that has some of `most` files. Only a changed plan reads rows again."""
        for part in self._left_out.parts() if self._after else ():
            if (
                part.first < number + most
                and number < part.beyond
                and self._index.holds(part.beyond, part.of)
            ):
                return part
        return None

    def _set_aside(self, late: pa.Table, number: int) -> None:
        if self._sidelog:
            write_batch(Path(self._sidelog) / batch_name(number, "arrow"), late)


def _later(maximum: int | None, times: NDArray[np.int64]) -> int | None:
    """The running maximum behind these event times [us]."""
    if not len(times):
        return maximum
    return int(times.max()) if maximum is None else max(maximum, int(times.max()))
