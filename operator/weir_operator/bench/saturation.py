"""Run one fragment over a log that is full already, on one core, and watch CPU time against rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from weir_placement.model.fragment import FragmentSpec, Input, Output, TypedColumn
from weir_placement.model.operators import Operator
from weir_runtime.names import read_json
from weir_runtime.session import CONF

from weir_operator.controller.exposition import parse_metrics

ROWS_A_FILE = 5_000
SPANS = 4
LOOK = 0.2
"""[s] between two readings."""
SCHEMA = pa.schema(
    [("k", pa.int64()), ("g", pa.int64()), ("v", pa.float64()), ("ts", pa.timestamp("us", "UTC"))]
)
COLUMNS = tuple(
    TypedColumn(name, kind)
    for name, kind in (("k", "BIGINT"), ("g", "BIGINT"), ("v", "DOUBLE"), ("ts", "TIMESTAMP"))
)
ROW_GAP = 1_000
"""[us] of event time between two rows."""


@dataclass(frozen=True)
class Saturated:
    """What one run gave after its first quarter, when start-up and compilation are past: the better quartile
    of spans of a quarter of the rest each, because what shares the machine costs cache and turbo too.

    `cpu_per_row` [CPU-us per source row]; `rows_per_core` [rows/s]: the rate that fills one core;
    `wall_rate` [rows/s]: what came in this run; `out_per_row`: output rows per source row.
    """

    cpu_per_row: float
    wall_rate: float
    out_per_row: float

    @property
    def rows_per_core(self) -> float:
        """The rate at which one core is full."""
        return 1e6 / self.cpu_per_row


def write_log(folder: Path, files: int, keys: int, seed: int, form: str = "arrow") -> None:
    """As `write_sized`, all files of the same size."""
    write_sized(folder, [ROWS_A_FILE] * files, keys, seed, form)


def write_sized(folder: Path, sizes: Sequence[int], keys: int, seed: int, form: str = "arrow") -> None:
    """Files of `sizes` rows: k uniform below `keys`, g below 50, v in [0, 1), one row a millisecond.

    `form` is arrow, parquet or json."""
    chance = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number, (count, before) in enumerate(zip(sizes, accumulate(sizes, initial=0), strict=False)):
        first = 1_600_000_000_000_000 + before * ROW_GAP
        columns = [
            pa.array(chance.integers(0, keys, count)),
            pa.array(chance.integers(0, 50, count)),
            pa.array(chance.random(count)),
            pa.array(first + np.arange(count) * ROW_GAP, SCHEMA.field("ts").type),
        ]
        table = pa.Table.from_arrays(columns, schema=SCHEMA)
        path = folder / f"{number:010d}.{form}"
        if form == "parquet":
            pq.write_table(table, path)
        elif form == "json":
            rows = ({**row, "ts": row["ts"].isoformat()} for row in table.to_pylist())
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
                writer.write_table(table)
    (folder / "END").touch()


def saturate(
    name: str,
    operators: Sequence[Operator],
    logs: dict[str, Path],
    folder: Path,
    core: int = 0,
    form: str = "arrow",
    settings: Mapping[str, str] | None = None,
) -> Saturated:
    """Runs the operators over the logs (by alias) to the end, pinned to one core, with other Spark settings.

    Raises:
        OSError: the fragment failed; its log is in `folder`.
    """
    inputs = tuple(
        Input(
            alias,
            "source",
            f"calibration/{alias}",
            {"files": {"uri": str(log), "format": form}},
            COLUMNS,
            "ts",
            1_000_000,
        )
        for alias, log in logs.items()
    )
    spec = FragmentSpec(
        name=name,
        namespace="calibration",
        query=name,
        node="this",
        epoch=1,
        inputs=inputs,
        operators=tuple(operators),
        output=Output("noop"),
        checkpoint=str(folder / name / "checkpoint"),
        lease=str(folder / name / "lease.json"),
        state=str(folder / name / "state.json"),
        trigger_ms=0,
        max_batches=4,
    )
    path = folder / name / "spec.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(spec.to_json())
    with open(folder / name / "log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "weir_runtime", str(path)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, CONF: json.dumps(dict(settings or {}))},
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        readings = _watch(process, spec)
    if process.returncode != 0 or len(readings) < 4:
        raise OSError(f"{name} ended with {process.returncode}; see {folder / name / 'log'}")
    return fit(name, readings)


def fit(name: str, readings: Sequence[tuple[float, float, float, float]]) -> Saturated:
    """From readings of (time, source rows, CPU seconds, rows out)."""
    total = readings[-1][1]
    warm = np.array([r for r in readings if r[1] >= total / 4])
    if len(warm) < 4:
        raise OSError(f"{name}: too few readings ({len(warm)}) after start-up; give it more rows")
    span = (warm[-1, 1] - warm[0, 1]) / SPANS
    spans = [(a, b) for k, a in enumerate(warm) if (b := _beyond(warm[k:], a[1] + span)) is not None]
    costs = [1e6 * (b[2] - a[2]) / (b[1] - a[1]) for a, b in spans]
    rates = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in spans]
    return Saturated(float(np.quantile(costs, 0.25)), float(np.quantile(rates, 0.75)), warm[-1, 3] / total)


def _beyond(readings: NDArray[np.float64], rows: float) -> NDArray[np.float64] | None:
    """The first reading with at least so many rows."""
    return next((r for r in readings if r[1] >= rows), None)


def _watch(process: subprocess.Popen[bytes], spec: FragmentSpec) -> list[tuple[float, float, float, float]]:
    """(time, source rows, CPU seconds, rows out) whenever the rows have grown."""
    readings: list[tuple[float, float, float, float]] = []
    while process.poll() is None:
        time.sleep(LOOK)
        state = read_json(Path(spec.state)) or {}
        if state.get("phase") != "running":
            continue
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{state['port']}/metrics", timeout=1) as answer:
                metrics = parse_metrics(answer.read().decode(), spec.name, 1, time.time())
        except OSError:
            continue
        rows = sum(metrics.operators[i.name].rows_in for i in spec.inputs if i.name in metrics.operators)
        last = metrics.operators.get(spec.operators[-1].id)
        if rows and (not readings or rows > readings[-1][1]):
            readings.append((metrics.at, rows, metrics.cpu_seconds, last.rows_out if last else 0.0))
    return readings
