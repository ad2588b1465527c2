"""What is sent: the streams of each set of queries, as files that the feeders repeat for ever.

A line is `position TAB stream TAB event time TAB the rest of a JSON object`. Positions count the rows of all
streams in their common order, so that feeders in several zones keep step with nothing but a clock.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from examples.flights.rows import streams as flights

KEYS_B, TIMES = 1_400, 100
"""As whitewater_query.py derives them from the paper's two measured rates; C has TIMES times more keys."""
HOURS = 168
"""Of each month: a week."""
ROUNDS = 30_000
"""Rows of each stream of the three-way join before they come again."""


@dataclass(frozen=True)
class RowStream:
    """`origin` is the zone that it enters; `ddl` without the payload."""

    name: str
    origin: str
    ddl: str
    watermark_ms: int
    distinct: dict[str, int]


KEYS = "month INT, carrier STRING, flight BIGINT, tailnum STRING, origin STRING, dest STRING"
DISTINCT = {"month": 12, "carrier": 16, "flight": 3800, "tailnum": 4000, "origin": 3, "dest": 105}
STREAMS = {
    "flights": (
        RowStream("departures", "newyork", f"{KEYS}, dep_delay DOUBLE, distance BIGINT", 200, dict(DISTINCT)),
        RowStream("arrivals", "west", f"{KEYS}, arr_delay DOUBLE, air_time DOUBLE", 200, dict(DISTINCT)),
        RowStream(
            "weather",
            "newyork",
            "month INT, origin STRING, temp DOUBLE, wind_speed DOUBLE, precip DOUBLE, visib DOUBLE",
            200,
            {"month": 12, "origin": 3},
        ),
    ),
    "three-way": (
        RowStream("ab", "newyork", "a BIGINT, b BIGINT", 200, {"a": TIMES, "b": KEYS_B}),
        RowStream("bc", "west", "b BIGINT, c BIGINT", 200, {"b": KEYS_B, "c": KEYS_B * TIMES}),
        RowStream("cd", "west", "c BIGINT, d BIGINT", 200, {"c": KEYS_B * TIMES, "d": TIMES}),
    ),
}
NOW = 0
"""Event time of a row that happens when it is sent."""
Line = tuple[str, int, str]
"""Stream, event time [us], the rest of the JSON object."""


@dataclass(frozen=True)
class Written:
    """`cycle`: rows of all streams until they come again; `period` [us]: event time that passes with them,
    NOW where it is the clock's; `share` of each stream."""

    cycle: int
    period: int
    share: dict[str, float]


def write(folder: Path, name: str, hours: int = HOURS, rounds: int = ROUNDS) -> Written:
    """`<set>-<zone>.tsv` for each zone that streams enter."""
    lines = list(flight_lines(hours) if name == "flights" else three_way_lines(rounds))
    zone_of = {stream.name: stream.origin for stream in STREAMS[name]}
    zones = sorted(set(zone_of.values()))
    files = {zone: (folder / f"{name}-{zone}.tsv").open("w") for zone in zones}
    count = dict.fromkeys(zone_of, 0)
    for position, (stream, at, rest) in enumerate(lines):
        files[zone_of[stream]].write(f"{position}\t{stream}\t{at}\t{rest}\n")
        count[stream] += 1
    for file in files.values():
        file.close()
    period = hours * 1_000_000 if name == "flights" else NOW
    return Written(len(lines), period, {stream: n / len(lines) for stream, n in count.items()})


def flight_lines(hours: int) -> Iterator[Line]:
    """The flights in the order of their event times; an hour of 2013 is a second, the months side by side."""
    frames = flights(hours)

    def of(name: str) -> Iterator[tuple[int, str, str]]:
        frame = frames[name]
        for at, row in zip(frame["ts"], frame.drop(columns="ts").to_dict("records"), strict=True):
            yield int(at), name, json.dumps(row)[1:]

    merged = heapq.merge(*(of(stream.name) for stream in STREAMS["flights"]), key=lambda row: row[0])
    yield from ((name, at, rest) for at, name, rest in merged)


def three_way_lines(rounds: int) -> Iterator[Line]:
    """Uniform keys, the three streams in turn."""
    domain = {"a": TIMES, "b": KEYS_B, "c": KEYS_B * TIMES, "d": TIMES}
    values = {}
    for seed, stream in enumerate(STREAMS["three-way"]):
        chance = np.random.default_rng(seed)
        values[stream.name] = {
            column: chance.integers(0, domain[column], rounds) for column in stream.distinct
        }
    for i in range(rounds):
        for name, columns in values.items():
            yield name, NOW, json.dumps({column: int(values[i]) for column, values in columns.items()})[1:]
