"""A topic as a log: where its reader goes on, which rows lie between two places, and which are late."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaException
from weir_placement.model.fragment import FragmentError

from weir_runtime.kafka_clients import REFUSALS, BrokersRefuse
from weir_runtime.logs.bad_rows import Parsed
from weir_runtime.logs.batches import write_batch
from weir_runtime.logs.dead_letters import BadRows
from weir_runtime.logs.lateness import behind_late, clock_after, on_time
from weir_runtime.logs.left_out import LeftOut, Part
from weir_runtime.logs.log import ROOM, Advance, Log, Place, Room, row_ids
from weir_runtime.logs.losses import Losses
from weir_runtime.logs.wall_clock import WallClock
from weir_runtime.sources.kafka.idle import Silence
from weir_runtime.sources.kafka.intake import Messages, OffsetsGone, Range
from weir_runtime.sources.kafka.place import (
    START,
    made_again,
    missing,
    opened,
    overtaken,
    settled,
    within,
    without_idle,
)
from weir_runtime.sources.kafka.places_noted import PlacesNoted
from weir_runtime.sources.kafka.reader import PATIENCE, KafkaReader, NoTopic
from weir_runtime.sources.kafka.rows import TopicRows

OFFSET_BITS = 48
"""A row id is the partition and the offset."""

BATCH_ROWS = 5_000
"""Messages of a partition in what counts as one batch."""

BATCH_BYTES = 32 * 2**20
"""[bytes] of messages in one batch, over all partitions, and one message more: a process holds them several
times over, and a backlog of wide rows would end it, at every start again."""

BATCH_SECONDS = 10.0
"""[s] for which one batch's messages are fetched, over all partitions: what a thin link has not brought by
then is for the next one. Rows before it need not wait for the whole backlog, nor does a move or a stop."""

_readers: dict[str, KafkaReader] = {}
"""Of this process, by brokers, log-in and topic: a batch's reader is a log unpickled anew. Its logs are used
by one thread."""


class KafkaLog(Log):
    """`place` is described in place.py.

    Lateness is decided in each partition by itself; the clock is the slowest partition's.

    Args:
        options: bootstrapServers, topic, and optionally format (json), startingOffsets, onDataLoss, security.
        schema: the stream's columns, the keys of the JSON objects; times as ISO 8601 or by `unixTimes`.
        event_time: one of them, of type timestamp.
        delay: watermark delay [us].
        sidelog: folder for late rows; "" for none.
        ahead: folder for the rows whose times `advance` has read, if this machine also reads them.
        idle: [us] after which the clock does not wait for a partition in which nothing comes; 0: it waits.
        bad_rows: what is done with messages that cannot be read.
        after: event time [us]: a reader that begins does so where rows before are not later, if notes of
            earlier readers say where that is; else with what the topic retains.
    """

    def __init__(
        self,
        options: dict[str, Any],
        schema: pa.Schema,
        event_time: str,
        delay: int,
        sidelog: str,
        ahead: Path | None = None,
        idle: int = 0,
        bad_rows: BadRows = BadRows(),  # noqa: B008 - it is frozen
        after: int = 0,
    ) -> None:
        if "topic" not in options:
            raise FragmentError("source.kafka.topic: missing; give the topic to read")
        if options.get("format", "json") != "json":
            raise FragmentError(f"source.kafka.format: {options['format']!r}; only json is supported")
        self._options = options
        self._topic: str = options["topic"]
        self._losses = Losses("kafka", f"topic {self._topic}", options.get("onDataLoss", "Fail"))
        self._rows = TopicRows(schema, event_time, ahead)
        self._delay = delay
        self._sidelog = sidelog
        self._silence = Silence(idle)
        self._bad_rows = bad_rows
        self._wall = WallClock(f"topic {self._topic}")
        self._after = after
        self._from_newest = options.get("startingOffsets", "earliest") == "latest" and not after
        identity = [options.get("bootstrapServers"), self._topic, event_time, str(schema), idle]
        self._noted = PlacesNoted(sidelog, identity)
        self._left_out = LeftOut(sidelog, identity, bad_rows.ahead)
        self._away_since: float | None = None  # [s, monotonic] no such topic
        self.schema = schema.append(pa.field("_id", pa.binary()))

    def start(self) -> Place:
        """Before the first look at the topic; always the same."""
        return START

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """Reads the event times of new messages. A broker that does not answer is waited for, in words.

        Raises:
            BrokersRefuse: the login, or the right to read the topic.
            DataLoss: messages before the next one to read are gone, and `onDataLoss` is Fail.
            TimeoutError: there is no such topic, or it gives nothing more.
        """
        try:
            following = self._following(place, most, Room(min(room.bytes, BATCH_BYTES), room.rows))
        except KafkaException as error:
            answer = error.args[0]
            words = (
                f"source.kafka: topic {self._topic} on {self._options['bootstrapServers']}: {answer.str()}"
            )
            if answer.code() in REFUSALS:
                raise BrokersRefuse(f"{words}; correct its login or its rights") from error
            return Advance(place, clock, False, words)
        except NoTopic as error:
            self._await_topic(error)
            return Advance(place, clock, False)
        self._away_since = None
        maxima = following["max"].values()
        now = min((clock_after(maximum, self._delay) for maximum in maxima), default=0)
        return Advance(following, max(clock, now), False)

    def committed(self, place: Place) -> None:
        """Leaves a note of it."""
        if not self._from_newest:
            self._noted.note(place)

    def backlog(self, place: Place) -> int:
        """Batches that wait."""
        try:
            ends = self._reader().ends(place["next"])
        except KafkaException:
            return 0
        return sum(-(-max(0, ends[key] - at) // BATCH_ROWS) for key, at in place["next"].items())

    def lost(self, start: Place | None, end: Place) -> int:
        """Offsets that were jumped over."""
        return int(end.get("lost", 0) - (start or {}).get("lost", 0))

    def idle(self, place: Place) -> int:
        """Idle partitions: the event-time clock does not wait for them."""
        return len(place.get("idle", ()))

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Rows on time; the others go to the side log, under their partition and the range's first offset,
        as row ids have it; and messages that cannot be read to the dead letters."""
        spans = self._between(start, end)
        rows = {key: here for key, span in spans.items() if (here := self._rows.kept(key, *span))}
        rows |= self._read_again(end, {key: span for key, span in spans.items() if key not in rows})
        for key, (first, _) in spans.items():
            parsed, base = rows.pop(key), end.get("base", {}).get(key, 0)
            name = f"{int(key):05d}-{base + first:015d}"
            self._bad_rows.put(name, self._shown(key), parsed.bad)
            keep = on_time(self._rows.times(parsed), start["max"].get(key), self._delay)
            ids = row_ids(int(key), parsed.positions + np.uint64(base), OFFSET_BITS)
            table = parsed.rows.append_column("_id", ids)
            if not keep.all() and self._sidelog:
                write_batch(Path(self._sidelog) / f"{name}.arrow", table.filter(pa.array(~keep)))
            yield from table.filter(pa.array(keep)).to_batches()

    def _reader(self) -> KafkaReader:
        names = ("bootstrapServers", "security", "topic")
        key = json.dumps([self._options.get(name) for name in names])
        if key not in _readers:
            _readers[key] = KafkaReader(self._options)
        return _readers[key]

    def _following(self, place: Place, most: int, room: Room) -> Place:
        """The place behind a jump, if one is needed, else behind what has come."""
        reader = self._reader()
        layout = reader.layout()
        if made_again(place, layout):
            self._losses.check("it was recreated, and the rows that were not read before that are lost")
        if self._after and not place["next"] and (begin := self._noted.before(self._after, layout)):
            return begin
        if (behind := opened(place, layout, self._first_offsets(place))) is not None:
            return behind
        here = {**settled(place), "topic": layout.id}
        ends = reader.ends(here["next"])
        cut = {key: at - ends[key] for key, at in place["next"].items() if ends[key] < at}
        self._losses.check_rows(cut, "it ends before the position reached, by {}")
        self._rows.begin()
        try:
            step = self._step(here, ends, most, room)
        except OffsetsGone:
            return self._overtaken(here)
        if reader.layout().id != layout.id:  # made again meanwhile: these may be messages of either
            return place
        return without_idle(step, self._silence.idle(place, step, ends))

    def _step(self, place: Place, ends: Mapping[str, int], most: int, room: Room) -> Place:
        """The messages up to `ends` that fit into a batch."""
        bounds = {key: at + most * BATCH_ROWS for key, at in place["next"].items()}
        now = self._wall.now(place)
        limit = self._bad_rows.limit(now)
        if (part := self._part(place, ends)) and limit is not None:
            inside = all(at >= part.first.get(key, 0) for key, at in place["next"].items())
            stop, limit = (part.beyond, min(limit, part.limit)) if inside else (part.first, limit)
            bounds = {key: min(bounds[key], max(at, stop.get(key, at))) for key, at in place["next"].items()}
        ranges = {
            key: Range(at, min(max(at, ends[key]), bounds[key]), bounds[key])
            for key, at in place["next"].items()
        }
        if all(item.first == item.until for item in ranges.values()):
            return place
        reached, maxima = dict(place["next"]), dict(place["max"])
        bad, late, ahead = 0, 0, False
        for key, messages in self._reader().fetch(ranges, room, BATCH_SECONDS).items():
            first, reached[key] = reached[key], messages.reached
            parsed = self._rows.parse(messages, limit)
            self._bad_rows.check(parsed.bad, self._shown(key))
            bad, ahead = bad + len(parsed.bad), ahead or parsed.ahead()
            self._rows.keep(key, first, messages.reached, parsed)
            if len(parsed.positions):
                times = self._rows.times(parsed)
                late += int(np.count_nonzero(~on_time(times, place["max"].get(key), self._delay)))
                newest = int(times.max())
                maxima[key] = max(newest, maxima[key] or newest)
        if ahead and limit is not None:
            newest = max((maximum for maximum in maxima.values() if maximum is not None), default=limit)
            self._left_out.note(Part(place["next"], reached, min(limit, newest), place["topic"]))
        behind = behind_late({**place, "next": reached, "max": maxima}, late)
        return self._bad_rows.behind(behind, bad, limit, now)

    def _part(self, place: Place, ends: Mapping[str, int]) -> Part | None:
        """The first one known that is not altogether before a place, in partitions that go up to `ends`. Only
        a changed plan reads rows again."""
        for part in self._left_out.parts() if self._after else ():
            left = any(at < part.beyond.get(key, 0) for key, at in place["next"].items())
            there = all(ends.get(key, 0) >= at for key, at in part.beyond.items())
            if left and there and part.of == place["topic"]:
                return part
        return None

    def _overtaken(self, place: Place) -> Place:
        """Behind what retention has deleted. Raises DataLoss."""
        beginnings = self._reader().beginnings(place["next"])
        self._losses.check_rows(missing(place, beginnings), "{} were deleted before they were read")
        return overtaken(place, beginnings)

    def _first_offsets(self, place: Place) -> Callable[[Collection[str]], Mapping[str, int]]:
        """Where partitions that are new are read from: only a query that begins may begin at their ends."""
        newest = self._from_newest and not place["next"]
        return self._reader().ends if newest else self._reader().beginnings

    def _between(self, start: Place, end: Place) -> dict[str, tuple[int, int]]:
        """First offset and the one behind the last, of partitions with messages between two places."""
        moved = [key for key in end["next"] if key not in end.get("jump", ())]
        unknown = [key for key in moved if key not in start["next"]]  # begun by an earlier version
        firsts = self._reader().beginnings(unknown) if unknown else {}
        firsts |= start["next"]
        spans = {key: (firsts[key], end["next"][key]) for key in moved}
        return {key: (first, beyond) for key, (first, beyond) in spans.items() if first < beyond}

    def _read_again(self, end: Place, spans: Mapping[str, tuple[int, int]]) -> dict[str, Parsed]:
        """What is not on this machine.

        Raises:
            DataLoss: something is gone, and `onDataLoss` is Fail.
            TimeoutError: there is no such topic, or it does not give what it says that it has.
        """
        if not spans:
            return {}
        left = spans
        while not self._is_another(end):
            ranges = {key: Range(first, beyond, beyond) for key, (first, beyond) in left.items()}
            try:
                fetched = self._reader().fetch(ranges)
            except (OffsetsGone, TimeoutError) as error:
                left = self._left(left, error)
                continue
            if not self._is_another(end):  # else these may be messages of either
                break
        else:
            self._losses.check("it was recreated before a planned batch was committed")
            fetched = {}
        taken = {key: fetched.get(key, Messages(beyond)) for key, (_, beyond) in spans.items()}
        return {key: self._rows.parse(messages, end.get("limit")) for key, messages in taken.items()}

    def _is_another(self, place: Place) -> bool:
        """Whether the topic is not the one of the place."""
        try:
            return made_again(place, self._reader().layout())
        except NoTopic as error:
            raise TimeoutError(str(error)) from error

    def _left(self, spans: Mapping[str, tuple[int, int]], error: Exception) -> dict[str, tuple[int, int]]:
        """The spans without what the topic no longer has at their beginnings and ends. Raises DataLoss; and
        TimeoutError when it has all, so that `error` has another cause."""
        left = within(spans, self._reader().beginnings(spans), self._reader().ends(spans))
        gone = {
            key: beyond - first - (left[key][1] - left[key][0] if key in left else 0)
            for key, (first, beyond) in spans.items()
        }
        if not any(gone.values()):
            where = ", ".join(f"partition {key} from {first} on" for key, (first, _) in spans.items())
            raise TimeoutError(
                f"topic {self._topic}: {where} is there, and cannot be read: {error}"
            ) from error
        gone = {key: count for key, count in gone.items() if count}
        self._losses.check_rows(gone, "{} of a batch that was not committed are gone")
        return left

    def _await_topic(self, error: NoTopic) -> None:
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
        if now > self._away_since + PATIENCE:
            raise TimeoutError(
                f"no topic {self._topic} on {self._options['bootstrapServers']}; create it, or correct "
                "source.kafka.topic"
            ) from error

    def _shown(self, key: str) -> str:
        return f"topic {self._topic}, partition {key}"
