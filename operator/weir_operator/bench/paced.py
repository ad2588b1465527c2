"""Processes that read logs which grow at the pace of their event times: what they keep up with.

A row is due when its event time has passed since the start, so windows hold what they hold in life, and a
fragment that has time to spare cannot run ahead of the others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir_placement.model.fragment import FragmentSpec
from weir_runtime.names import read_json

from weir_operator.bench.whitewater_query import FILE_SECONDS, STREAMS, Logs
from weir_operator.controller.exposition import parse_metrics

LOOK = 0.5
"""[s] between two readings."""
PATIENCE = 90.0
"""[s] for all processes to start."""
SETTLED = 0.5
"""Share of a run after which it is measured: code is compiled, windows are full."""

Reading = tuple[float, float, Mapping[str, float]]
"""Time [s], CPU seconds so far, rows read of each stream so far."""


class PacedProcess:
    """One process of the runtime on one core."""

    def __init__(self, spec: FragmentSpec, core: int, folder: Path) -> None:
        self.spec, self.core = spec, core
        path = folder / f"{spec.name}.json"
        path.write_text(spec.to_json())
        with open(folder / f"{spec.name}.log", "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "weir_runtime", str(path)],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
                preexec_fn=lambda: os.sched_setaffinity(0, {core}),
            )

    def started(self) -> bool:
        """Whether it has begun to read. Raises OSError when it has ended."""
        if self.process.poll() is not None:
            raise OSError(f"{self.spec.name} ended with {self.process.returncode}")
        return (read_json(Path(self.spec.state)) or {}).get("phase") == "running"

    def read(self) -> Reading | None:
        """From its metrics; None while they cannot be read."""
        port = (read_json(Path(self.spec.state)) or {}).get("port")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=1) as answer:
                metrics = parse_metrics(answer.read().decode(), self.spec.name, 1, time.time())
        except OSError:
            return None
        rows = {name: metrics.operators[name].rows_in for name in STREAMS if name in metrics.operators}
        return (metrics.at, metrics.cpu_seconds, rows) if metrics.batches else None


class PlainJob:
    """A plain Spark job (`plain_job`) on some cores."""

    def __init__(self, inbox: Path, folder: Path, cores: Sequence[int], heap_mb: int) -> None:
        self.core = cores[0]
        command = [sys.executable, "-m", "weir_operator.bench.plain_job", str(inbox), str(folder / "job")]
        self._output = folder / "job.jsonl"
        with open(self._output, "wb") as out, open(folder / "job.log", "wb") as log:
            self.process = subprocess.Popen(
                [*command, str(len(cores)), str(heap_mb)],
                stdout=out,
                stderr=log,
                preexec_fn=lambda: os.sched_setaffinity(0, set(cores)),
            )

    def started(self) -> bool:
        """Whether it has begun to read. Raises OSError when it has ended."""
        if self.process.poll() is not None:
            raise OSError(f"the plain job ended with {self.process.returncode}")
        return self._output.stat().st_size > 0

    def read(self) -> Reading | None:
        """From the last line of its output."""
        lines = [line for line in self._output.read_text().splitlines(keepends=True) if line.endswith("\n")]
        at, cpu, rows = json.loads(lines[-1])
        return (at, cpu, rows) if rows else None


@dataclass(frozen=True)
class PacedRun:
    """What a run at `due` [rows/s of each stream] came to.

    `rate`: rows/s of each stream that came through, by the clock, in the settled part; never more than `due`
    counts as sustained. `full`: CPU seconds a second of the fullest core, at `rate`.
    """

    due: float
    rate: float
    full: float

    @property
    def sustained(self) -> float:
        """[rows/s] By the clock. Where less was due than could come through, no more than that is known:
        and where more was due, windows were fuller than they are at the rate that came through."""
        return min(self.due, self.rate)

    @property
    def by_cpu(self) -> float:
        """[rows/s] At which the fullest core would be busy all the time."""
        return self.rate / self.full


def run(logs: Logs, inbox: Path, processes: Sequence[PacedProcess | PlainJob], cores: int) -> PacedRun:
    """Lets the logs grow from when all processes have started until they end, and takes readings meanwhile.

    Args:
        cores: that the processes of one `core` number may use together.

    Raises:
        OSError: a process ended, or did not start in time.
    """
    readings: list[list[Reading]] = [[] for _ in processes]
    try:
        _await_start(processes)
        begin = time.time()
        feeder = threading.Thread(target=_feed, args=(logs, inbox, begin), daemon=True)
        feeder.start()
        end = begin + logs.files * FILE_SECONDS
        while time.time() < end:
            time.sleep(LOOK)
            for process, own_readings in zip(processes, readings, strict=True):
                process.started()
                reading = process.read()
                if reading is not None and (not own_readings or reading[2] != own_readings[-1][2]):
                    own_readings.append(reading)
        feeder.join()
    finally:
        for process in processes:
            process.process.terminate()
        for process in processes:
            process.process.wait(120)
    return paced_run(logs.rate, begin + SETTLED * (end - begin), readings, [p.core for p in processes], cores)


def paced_run(
    due: float, since: float, readings: Sequence[Sequence[Reading]], at: Sequence[int], cores: int
) -> PacedRun:
    """From the readings of each process from the last before `since` on, with the core it runs on. Nothing
    where not even two batches of a process have ended in that time: it is far behind."""
    rates: list[float] = []
    busy: dict[int, float] = {}
    for own_readings, core in zip(readings, at, strict=True):
        before = [reading for reading in own_readings if reading[0] < since]
        settled = before[-1:] + [reading for reading in own_readings if reading[0] >= since]
        if len(settled) < 3:
            return PacedRun(due, 0.0, 1.0)
        first, last = settled[0], settled[-1]
        seconds = last[0] - first[0]
        rates += [(last[2][name] - first[2][name]) / seconds for name in last[2]]
        busy[core] = busy.get(core, 0.0) + (last[1] - first[1]) / seconds
    return PacedRun(due, min(rates), max(busy.values()) / cores)


def _await_start(processes: Sequence[PacedProcess | PlainJob]) -> None:
    limit = time.monotonic() + PATIENCE
    while not all(process.started() for process in processes):
        if time.monotonic() > limit:
            raise OSError(f"not all processes have started within {PATIENCE:.0f} s")
        time.sleep(LOOK / 5)


def _feed(logs: Logs, inbox: Path, begin: float) -> None:
    """Puts each file into the inbox when its last row is due."""
    for number in range(logs.files):
        time.sleep(max(0.0, begin + (number + 1) * FILE_SECONDS - time.time()))
        for name in STREAMS:
            for file in (logs.folder / name).glob(f"{number:010d}.*"):
                os.link(file, inbox / name / file.name)
