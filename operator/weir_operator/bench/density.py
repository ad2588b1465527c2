"""What a further fragment costs in memory: joins of two trickles, a process each and many in one host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.ipc
from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_runtime.host import HostSpec
from weir_runtime.names import read_json, write_whole

from weir_operator.bench.calibrate import join_of
from weir_operator.bench.saturation import COLUMNS, SCHEMA

RUNS = ((1, 4, 2.0), (1, 12, 4.0), (1, 24, 8.0), (0, 4, 2.0), (0, 8, 4.0))
"""Hosts (0: a process each), fragments, trigger [s]."""
RATE = 20
"""[rows/s] of each source of each fragment."""
BATCHES = 10
"""Committed by each fragment before it is measured."""
PATIENCE = 900.0
"""[s] for them."""
HOST_HEAP_MB = 1024
LOOK = 1.0


@dataclass(frozen=True)
class Density:
    """`memory` [MB] PSS of everything that was started; `started` [s] until all had committed a batch."""

    memory: float
    started: float


def density(folder: Path) -> None:
    """`weir bench density`: several minutes for each line, most of them starts."""
    rows: list[tuple[str | float, ...]] = []
    least: dict[int, tuple[int, float]] = {}
    for hosts, count, trigger in RUNS:
        result = measure(hosts, count, trigger)
        first, memory = least.setdefault(hosts, (count, result.memory))
        further = f"{(result.memory - memory) / (count - first):.0f}" if count > first else ""
        kind = "one host" if hosts else "a process each"
        rows.append((kind, count, trigger, round(result.memory), further, round(result.started)))
        print(*rows[-1], flush=True)
    load = os.getloadavg()[1]
    text = f"{TEXT}\n\nMachine: {described()}; load average of five minutes at the end {load:.0f}."
    write(folder, "density", "Memory of many small fragments", text, HEAD, rows)


def measure(hosts: int, count: int, trigger: float) -> Density:
    """Starts them over two logs that grow, and ends them. Raises OSError when one does not come up."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        folder, stop = Path(name), threading.Event()
        for alias in "ab":
            (folder / alias).mkdir()
        feeder = threading.Thread(target=_feed, args=(folder, stop), daemon=True)
        feeder.start()
        specs = [_spec(folder, number, trigger) for number in range(count)]
        children = _start_host(folder, specs) if hosts else _start_each(folder, specs)
        try:
            started = time.monotonic()
            _await_batches(specs, 1, children)
            came_up = time.monotonic() - started
            _await_batches(specs, BATCHES, children)
            readings = []
            for _ in range(5):
                readings.append(_memory(children))
                time.sleep(LOOK)
            return Density(median(readings), came_up)
        finally:
            stop.set()
            for child in children:
                child.terminate()
            for child in children:
                child.wait(180)


def _spec(folder: Path, number: int, trigger: float) -> FragmentSpec:
    place = folder / f"f{number}"
    inputs = tuple(
        Input(
            alias,
            "source",
            f"bench/{alias}",
            {"files": {"uri": str(folder / alias), "format": "arrow"}},
            COLUMNS,
            "ts",
            1_000_000,
        )
        for alias in "ab"
    )
    return FragmentSpec(
        name=f"density-{number}",
        namespace="bench",
        query="density",
        node="this",
        epoch=1,
        inputs=inputs,
        operators=(join_of(500_000),),
        output=Output("noop"),
        checkpoint=str(place / "checkpoint"),
        lease=str(place / "lease.json"),
        state=str(place / "state.json"),
        trigger_ms=round(trigger * 1000),
    )


def _start_each(folder: Path, specs: Sequence[FragmentSpec]) -> list[subprocess.Popen[bytes]]:
    children = []
    for spec in specs:
        path = folder / f"{spec.name}.json"
        path.write_text(spec.to_json())
        children.append(_child(folder, "weir_runtime", path))
    return children


def _start_host(folder: Path, specs: Sequence[FragmentSpec]) -> list[subprocess.Popen[bytes]]:
    lease, desired, state = (str(folder / f"host-{what}.json") for what in ("lease", "desired", "state"))
    host = HostSpec("density", lease, desired, state, min(2, os.cpu_count() or 1), HOST_HEAP_MB)
    path = folder / "host.json"
    path.write_text(json.dumps(asdict(host)))
    orders: Mapping[str, object] = {spec.name: json.loads(spec.to_json()) for spec in specs}
    write_whole(Path(desired), json.dumps({"fragments": orders}))
    return [_child(folder, "weir_runtime.host", path)]


def _child(folder: Path, module: str, path: Path) -> subprocess.Popen[bytes]:
    with open(folder / f"{path.stem}.log", "wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", module, str(path)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )


def _await_batches(
    specs: Sequence[FragmentSpec], batches: int, children: Sequence[subprocess.Popen[bytes]]
) -> None:
    limit = time.monotonic() + PATIENCE
    while True:
        states = [read_json(Path(spec.state)) or {} for spec in specs]
        if all(state.get("batch", -1) >= batches - 1 for state in states):
            return
        errors = [state["error"] for state in states if state.get("error")]
        if errors or time.monotonic() > limit or any(child.poll() is not None for child in children):
            raise OSError(f"not all have come up: {errors or states}")
        time.sleep(LOOK)


def _memory(children: Sequence[subprocess.Popen[bytes]]) -> float:
    """[MB] Pages that several processes share are counted once."""
    kilobytes = 0
    for pid in _below([child.pid for child in children]):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # it ended while we looked
        kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1024


def _below(pids: Sequence[int]) -> Iterator[int]:
    waiting = [*pids]
    while waiting:
        pid = waiting.pop()
        yield pid
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                waiting += map(int, file.read_text().split())
            except OSError:
                continue


def _feed(folder: Path, stop: threading.Event) -> None:
    """A file of each stream every second."""
    number = 0
    while not stop.wait(1.0):
        for seed, alias in enumerate("ab"):
            chance = np.random.default_rng([seed, number])
            times = np.full(RATE, time.time() * 1e6).astype(np.int64)
            columns = [
                pa.array(chance.integers(0, 100, RATE)),
                pa.array(chance.integers(0, 50, RATE)),
                pa.array(chance.random(RATE)),
                pa.array(times, SCHEMA.field("ts").type),
            ]
            table = pa.Table.from_arrays(columns, schema=SCHEMA)
            path = folder / alias / f"{number:010d}.arrow"
            temporary = path.with_name(f".{path.name}")
            with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
                writer.write_table(table)
            temporary.rename(path)
        number += 1


HEAD = (
    "fragments in",
    "fragments",
    "trigger [s]",
    "memory [MB]",
    "a further one [MB]",
    "until a batch of each [s]",
)
TEXT = f"""Each fragment joins two sources of {RATE} rows/s each, on keys within half a second of each other,
with its state, checkpoint, lease and state file, into a sink that drops the rows. Memory is the sum of PSS
over all processes, Spark's and Python's, once each fragment has committed {BATCHES} batches: the median of
five looks. A further one: against the first line of its kind. A process has a heap of at most 512 MB, a host
of at most {HOST_HEAP_MB} MB.

CPU is not on this page: other work shared the machine's cores."""
