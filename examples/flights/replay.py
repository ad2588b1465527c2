"""Writes the flights as three logs of numbered files, live: `python -m examples.flights.replay FOLDER`.

An hour of 2013 is a second here. How many of the twelve months are replayed side by side at a time
follows the load of a World Cup day (load.csv), so that the rate rises by the factor of that day. Rows
reach the log up to LATENESS after their event time; a few come too late and end in the side log.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc

from examples.flights.rows import BEGIN, streams

TICK = 0.25
"""[s] A file for each stream and tick."""
LATENESS = 150_000
"""[us] Rows are reported up to so much after they happened: within the streams' watermark."""
TOO_LATE = 1_500_000
"""[us] One report in a thousand comes so much later: beyond it."""
MONTHS = 12


@dataclass(frozen=True)
class ReplayShape:
    """Months replayed at each second: from `low` to `high`, in the shape of load.csv."""

    low: int
    high: int
    seconds: int
    quiet: float = 0.2  # share of the time until the load begins to rise
    peak: float = 0.5  # and until it is at its highest

    def months(self) -> list[int]:
        """One number for each second of the replay."""
        with open(Path(__file__).with_name("load.csv")) as file:
            load = np.array([float(row["requests"]) for row in csv.DictReader(file)])
        rise = int(np.argmax(load > 1.5 * load[:12].mean()))
        at = np.linspace(0.0, 1.0, self.seconds)
        marks = [0.0, rise, float(np.argmax(load)), len(load) - 1.0]
        position = np.interp(at, [0.0, self.quiet, self.peak, 1.0], marks)
        level = np.interp(position, np.arange(len(load)), load)
        share = (level - level.min()) / (level.max() - level.min())
        return [round(self.low + s * (self.high - self.low)) for s in share]


def chosen(shape: ReplayShape) -> dict[str, pd.DataFrame]:
    """The rows to be replayed with `arrival` [us since the begin]: when they reach the log."""
    months = np.array(shape.months())
    begin = int(BEGIN.timestamp()) * 1_000_000
    result = {}
    for name, frame in streams(shape.seconds).items():
        second = ((frame["ts"] - begin) // 1_000_000).clip(0, shape.seconds - 1)
        chosen_rows = frame[frame["month"].to_numpy() <= months[second.to_numpy()]].copy()
        chance = np.random.default_rng(len(name))
        delay = chance.integers(0, LATENESS, len(chosen_rows))
        delay = np.where(chance.random(len(chosen_rows)) < 0.001, TOO_LATE, delay)
        chosen_rows["arrival"] = chosen_rows["ts"] - begin + delay
        result[name] = chosen_rows.sort_values("arrival", kind="stable")
    return result


SCHEMAS = {
    "month": pa.int32(), "carrier": pa.string(), "flight": pa.int64(), "tailnum": pa.string(),
    "origin": pa.string(), "dest": pa.string(), "dep_delay": pa.float64(), "arr_delay": pa.float64(),
    "air_time": pa.float64(), "distance": pa.int64(), "temp": pa.float64(), "wind_speed": pa.float64(),
    "precip": pa.float64(), "visib": pa.float64(), "ts": pa.timestamp("us", "UTC"),
}  # fmt: skip


def table(rows: pd.DataFrame) -> pa.Table:
    """Rows with the stream's types."""
    columns = [c for c in rows.columns if c != "arrival"]
    return pa.table({c: pa.array(rows[c].to_numpy(), SCHEMAS[c]) for c in columns})


def write(folder: Path, number: int, rows: pa.Table) -> None:
    """One file of a log: it appears whole."""
    temporary = folder / f".{number:010d}"
    with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    os.rename(temporary, folder / f"{number:010d}.arrow")


def ticks(frames: dict[str, pd.DataFrame]) -> Iterator[tuple[float, dict[str, pa.Table]]]:
    """When [s since the begin], and each stream's rows that arrived in the tick before."""
    end = max(int(frame["arrival"].max()) for frame in frames.values())
    step = round(TICK * 1e6)
    for k in range(end // step + 1):
        parts = {}
        for name, frame in frames.items():
            first, last = np.searchsorted(frame["arrival"].to_numpy(), [k * step, (k + 1) * step])
            parts[name] = table(frame.iloc[first:last])
        yield (k + 1) * TICK, parts


def replay(folder: Path, shape: ReplayShape, speed: float = 1.0) -> None:
    """Writes all files in their time, then END: the streams are finite."""
    frames = chosen(shape)
    for name in frames:
        (folder / name).mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    for number, (when, parts) in enumerate(ticks(frames)):
        time.sleep(max(0.0, begin + when / speed - time.monotonic()))
        for name, rows in parts.items():
            write(folder / name, number, rows)
    for name in frames:
        (folder / name / "END").touch()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="replays the flights as three live logs")
    parser.add_argument("folder", type=Path, help="departures, arrivals and weather are written below it")
    parser.add_argument("--seconds", type=int, default=90, help="length; an hour of 2013 each")
    parser.add_argument("--low", type=int, default=2, help="months side by side when it is quiet")
    parser.add_argument("--high", type=int, default=MONTHS, help="and at the peak")
    parser.add_argument("--speed", type=float, default=1.0, help="seconds of event time in a second")
    arguments = parser.parse_args()
    replay(arguments.folder, ReplayShape(arguments.low, arguments.high, arguments.seconds), arguments.speed)


if __name__ == "__main__":
    main()
