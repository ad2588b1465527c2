"""Logs, specs and processes for tests of the runtime."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import FragmentSpec, Input, Output, OutputColumn, TypedColumn
from weir_placement.model.operators import Operator
from weir_runtime.logs.log import Log, Place
from weir_runtime.source import CLOCK, Control, RangePartition, WeirStreamReader

ROOT = Path(__file__).parents[2]
ORIGIN = 1_700_000_000_000_000
"""[us] 2023-11-14T22:13:20Z: event times in tests count from here."""

COLUMNS = (TypedColumn("k", "BIGINT"), TypedColumn("v", "BIGINT"), TypedColumn("ts", "TIMESTAMP"))
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))])

Rows = Sequence[tuple[int | None, int | None, int]]
"""(k, v, event time in us after ORIGIN)."""


def append_batch(folder: Path, number: int, rows: Rows) -> None:
    """Puts one file into a source log in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([{"k": k, "v": v, "ts": ORIGIN + t} for k, v, t in rows], schema=SCHEMA)
    temporary = folder / f".{number}"
    pq.write_table(table, temporary)
    temporary.rename(folder / f"{number:010d}.parquet")


def write_log(folder: Path, batches: Sequence[Rows], end: bool = True) -> Path:
    """A whole source log."""
    for number, rows in enumerate(batches):
        append_batch(folder, number, rows)
    folder.mkdir(parents=True, exist_ok=True)
    if end:
        (folder / "END").touch()
    return folder


def rows_of(log: Log, start: Place, end: Place) -> list[pa.RecordBatch]:
    """What Spark is given between two places, but for the marker at the end and its column."""
    reader = WeirStreamReader(log, "a", Control("unused"), most=64)
    *batches, _ = reader.read(RangePartition({"at": start}, {"at": end, "clock": 0}))
    return [batch.drop_columns([CLOCK]) for batch in batches]


def source(alias: str, folder: Path, delay: int = 0, start: int = 0) -> Input:
    """A files source with columns k, v, ts; delay in us."""
    return Input(
        alias,
        "source",
        stream=f"default/{alias}",
        source={"files": {"uri": str(folder), "format": "parquet"}},
        columns=COLUMNS,
        event_time="ts",
        delay=delay,
        start=start,
    )


def fragment(
    root: Path,
    name: str,
    inputs: Sequence[Input],
    operators: Sequence[Operator],
    output: Output,
    **changes: Any,
) -> FragmentSpec:
    """A spec with its folders under `root`."""
    settings: dict[str, Any] = {
        "namespace": "default",
        "query": "q",
        "node": "n1",
        "epoch": 1,
        "checkpoint": str(root / "checkpoints" / name),
        "lease": str(root / "leases" / f"{name}.json"),
        "sidelog": str(root / "late" / name),
        "trigger_ms": 50,
        "heap_mb": 512,
    } | changes
    settings.setdefault("state", str(root / "states" / f"{name}-e{settings['epoch']}.json"))
    return FragmentSpec(
        name=name, inputs=tuple(inputs), operators=tuple(operators), output=output, **settings
    )


def files_output(folder: Path, *columns: str) -> Output:
    """A files sink of these columns, under names without their alias's dot."""
    chosen = tuple(OutputColumn(column, column.replace(".", "_")) for column in columns)
    return Output("files", uri=str(folder), columns=chosen)


def launch(
    spec: FragmentSpec, text: str = "", program: Sequence[str] = ("-m", "weir_runtime"), **environment: str
) -> subprocess.Popen[bytes]:
    """Starts the fragment's process by `program`; `text`: the spec as another version writes it."""
    path = Path(spec.state).with_suffix(".spec.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or spec.to_json())
    paths = [str(ROOT / room) for room in ("placement", "runtime")]
    paths += [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        settings.pop(name, None)
    return subprocess.Popen([sys.executable, *program, str(path)], env=settings)


def state(spec: FragmentSpec) -> dict[str, Any]:
    """The state that the process reports."""
    path = Path(spec.state)
    document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"phase": ""}
    return document


def runs(process: subprocess.Popen[bytes], spec: FragmentSpec) -> bool:
    """Whether this process (not one before it) says that its query runs. Fails when it has ended."""
    assert process.poll() is None, state(spec)
    document = state(spec)
    return document.get("pid") == process.pid and document["phase"] == "running"


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
    """Waits for a condition; fails with `what` when it does not come."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def sink_rows(folder: Path) -> list[tuple[Any, ...]]:
    """Every row of a files sink, sorted."""
    rows: list[tuple[Any, ...]] = []
    for path in sorted(folder.glob("[!._]*.parquet")):
        rows += [tuple(row.values()) for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted(rows, key=repr)
