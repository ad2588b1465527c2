"""Our own Spark data source: one stream of rows and clock markers over any log.

An offset is {"input", "at": the log's place, "clock": [us], "ended", "settled", "tick"}; the first batch's
end also has "from": the place where reading began, which is decided with it. Each range
of offsets gives the rows between and one marker row, in which `_clock` alone is set: Spark's watermark
comes from markers only. So a watermark is exactly what the producer says, for joins and unions too,
where rows of a slow branch may be far older than what has been read of a fast one.
"""

from __future__ import annotations

import json
import os
import pickle
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from weir_runtime.chunks import CHUNK, in_chunks
from weir_runtime.cpu import report
from weir_runtime.logs.log import MOST_ROWS, ROOM, Log, Room
from weir_runtime.names import read_json, write_whole
from weir_runtime.unreachable import read_again

CLOCK = "_clock"
FORMAT = "weir"
GATE_SECONDS = 0.005

UNBEGUN = "unbegun"
"""A flag: the query was drained before its first batch, and ends."""


class NotBegun(RuntimeError):
    """Ends a query that is drained before its first batch: Spark plans that one whatever its reader says."""


class Control:
    """Flags in a folder, by which a fragment's process speaks to its readers' processes.

    `go`: readers may begin (a standby waits for it). `drain`: admit nothing more; each reader answers
    by `drained-<input>`, and when all have, every admitted batch has been committed; `unbegun`: there was
    none. `hold`, `unconfirmed`: admit nothing as long as it is up, but a first batch without rows.
    `end.json`: rows later than that [us] are not read; it is there before the first batch is, or never.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def set(self, flag: str) -> None:
        """Raises a flag."""
        (self.folder / flag).touch()

    def tell(self, name: str, waits: str, missing: int | None) -> None:
        """For what the reader of an input waits, and which file is missing; kept until it tells another."""
        write_whole(self.folder / f"waits-{name}.json", json.dumps([waits, missing]))

    def told(self, name: str) -> tuple[str, int | None] | None:
        """What the reader of an input has told; None: nothing."""
        words = read_json(self.folder / f"waits-{name}.json")
        return None if words is None else (str(words[0]), words[1])

    def end_at(self, cut: int | None, ahead: int) -> None:
        """Nobody needs rows later than a cut and `ahead` [us]; None: all are needed."""
        if cut is not None:
            write_whole(self.folder / "end.json", json.dumps(cut + ahead))

    def end(self) -> int | None:
        """[us] Up to which rows are needed; None: all are."""
        time: int | None = read_json(self.folder / "end.json")
        return time

    def clear(self, flag: str) -> None:
        """Takes a flag down."""
        (self.folder / flag).unlink(missing_ok=True)

    def is_set(self, flag: str) -> bool:
        """Whether a flag is up."""
        return (self.folder / flag).exists()


class WeirSource(DataSource):
    """`spark.readStream.format("weir")` with options `log` (a pickled Log, hexadecimal), `input`
    (its name), `time` (the column of its event times), `inputs` (how many the fragment has), `control`,
    `most` (batches at once) and `cpu` (where executors write what they have used; empty without any).

    Offsets are worked out beside the driver, which `control` needs; rows are read wherever a task runs."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Called when Spark has planned the query, before it reads the checkpoint: so a standby waits
        here with everything warm, and sees the checkpoint as its predecessor left it. Spark makes one
        reader after the other: only the last one waits."""
        control = Control(self.options["control"])
        control.set(f"arrived-{self.options['input']}")
        arrived = len(list(control.folder.glob("arrived-*")))
        if arrived == int(self.options["inputs"]):
            control.set("at-gate")
        parent = os.getppid()
        while control.is_set("at-gate") and not control.is_set("go"):
            if os.getppid() != parent:
                raise SystemExit("the fragment's JVM is gone")  # else this would wait for ever
            time.sleep(GATE_SECONDS)
        log: Log = pickle.loads(bytes.fromhex(self.options["log"]))
        cpu = Path(self.options["cpu"]) if self.options.get("cpu") else None
        room = Room(rows=max(1, MOST_ROWS // int(self.options["inputs"])))
        most, column = int(self.options["most"]), self.options["time"]
        return WeirStreamReader(log, self.options["input"], control, most, cpu, room, column)


class RangePartition(InputPartition):
    """One range of offsets, read by one task: its rows up to the event time `until` [us], if one is given."""

    def __init__(self, start: dict[str, Any], end: dict[str, Any], until: int | None = None) -> None:
        self.start = start
        self.end = end
        self.until = until


class WeirStreamReader(DataSourceStreamReader):
    """Turns a log into offsets and Arrow batches."""

    def __init__(
        self,
        log: Log,
        name: str,
        control: Control,
        most: int,
        cpu: Path | None = None,
        room: Room = ROOM,
        time_column: str = "",
    ) -> None:
        self._log = log
        self._time_column = time_column
        self._name = name
        self._control = control
        self._most = most
        self._cpu = cpu
        self._room = room
        self._greeted = False
        self._committed: dict[str, Any] = {}  # what Spark has told last
        self._waits: tuple[str, int | None] = ("", None)

    def initialOffset(self) -> dict[str, Any]:
        """Of a query without a committed batch: the same at every call. Spark asks two readers, and again in
        the next life, when where a log begins may be another place. So that is decided with the first step,
        whose end is durable before a row is read."""
        return {
            "input": self._name,
            "at": None,
            "clock": 0,
            "ended": False,
            "settled": True,
            "tick": 0,
        }

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        """As far as the log goes now. Nothing new: one more range without rows, so that the batch after
        the last rows publishes their watermark; and one at each start, because Spark keeps no input's
        own watermark in the checkpoint, and an input that has ended would hold it at 0 for ever."""
        following = {name: value for name, value in start.items() if name != "from"}
        if self._control.is_set("drain"):
            drained = f"drained-{self._name}"
            if start["at"] is not None:
                self._control.set(drained)
                return start
            self._control.set(UNBEGUN)  # first: whoever sees that all have drained looks for it
            self._control.set(drained)
            raise NotBegun(f"{self._name}: told to stop before the first batch")
        if start["at"] is None:
            begin = self._log.start()
            start = following = {**start, "at": begin, "from": begin}
        if self._control.is_set("hold") or self._control.is_set("unconfirmed"):
            return start
        if not start["ended"]:
            advance = self._log.advance(start["at"], start["clock"], self._most, self._room)
            if (waits := (advance.waits, advance.missing)) != self._waits:
                self._waits = waits
                self._control.tell(self._name, *waits)
            if advance.place != start["at"] or advance.ended:
                self._greeted = True
                return {
                    **following,
                    "at": advance.place,
                    "clock": advance.clock,
                    "ended": advance.ended,
                    "settled": False,
                }
        if self._greeted and start["settled"]:
            return start
        self._greeted = True
        return {**following, "settled": True, "tick": start["tick"] + 1}

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Not known without a position; the backlog is measured by the fragment's process."""
        return None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One for any number of batches: a task costs more than a batch does."""
        return [] if start == end else [RangePartition(start, end, self._control.end())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows, then the marker. Rows go to Spark in chunks: it holds them outside of its heap, where
        there is no more room than in it, and a batch of wide rows would not fit."""
        assert isinstance(partition, RangePartition)
        schema = frame_schema(self._log.schema)
        begin, end = partition.start["at"], partition.end["at"]
        if begin is None:  # earlier versions have not written where
            begin = partition.end.get("from") or self._log.start()
        if begin != end:
            batches: Iterator[pa.RecordBatch] = read_again(lambda: self._log.read(begin, end))
            if partition.until is not None:
                batches = up_to(partition.until, batches, self._time_column)
            for batch in chain.from_iterable(in_chunks(batch, CHUNK) for batch in batches):
                clock = pa.nulls(batch.num_rows, schema.field(CLOCK).type)
                yield pa.RecordBatch.from_arrays([*batch.columns, clock], schema=schema)
        nothing = [pa.nulls(1, field.type) for field in self._log.schema]
        clock = pa.array([partition.end["clock"]], pa.int64()).cast(schema.field(CLOCK).type)
        yield pa.RecordBatch.from_arrays([*nothing, clock], schema=schema)
        if self._cpu:
            report(self._cpu)

    def commit(self, end: dict[str, Any]) -> None:
        """Makes known to the log what is passed for good: the end of the batch before. Spark tells of a
        commit when it plans the next batch, and leaves its file to the kernel until that one is published
        (`Checkpoint.sync`): after a loss of power before that, this batch is read again."""
        if self._committed and self._committed != end:
            self._log.committed(self._committed["at"])
        self._committed = end


def up_to(time: int, batches: Iterator[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
    """Their rows that are no later than an event time [us]."""
    for batch in batches:
        yield batch.filter(pc.less_equal(batch.column(column).cast(pa.int64()), time))


def frame_schema(log_schema: pa.Schema) -> pa.Schema:
    """What Spark gets: the log's columns, nullable because of markers, and the clock."""
    fields = [field.with_nullable(True).remove_metadata() for field in log_schema]
    return pa.schema([*fields, pa.field(CLOCK, pa.timestamp("us", tz="UTC"))])
