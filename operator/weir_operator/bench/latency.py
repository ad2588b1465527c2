"""Latency by the model (`weir_placement.cost.latency`) and by Spark: one join on one core at three rates."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.fragment import FragmentSpec, Input, Output, OutputColumn
from weir_placement.model.operators import Join
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Overheads, Problem, Query
from weir_placement.model.streams import Column, Stream

from weir_operator.bench.calibrate import join_of
from weir_operator.bench.paced import PATIENCE, PacedProcess
from weir_operator.bench.saturation import COLUMNS, SCHEMA, saturate, write_log

KEYS = 200_000
REACH = 500_000
"""[us] of the join's window, on either side."""
SHARES = (0.1, 0.4, 0.7)
"""Of the rate that fills the core; the first one says what a batch takes without rows."""
SECONDS = 45.0
SETTLED = 0.4
"""Share of a run after which it is measured."""
STEP = 0.1
"""[s] between two files of a stream."""
FILES = 64
TRIGGER = 200
"""[ms] as in a cluster."""


def latency(folder: Path) -> None:
    """`weir bench latency`: fills the core once, then three paced runs; about four minutes."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        logs = Path(name)
        for seed, alias in enumerate("ab", 11):
            write_log(logs / alias, FILES, KEYS, seed)
        saturated = saturate("full", (join_of(REACH),), {a: logs / a for a in "ab"}, logs)
        cost = saturated.cpu_per_row
        measured = {}
        for share in SHARES:
            rate = share * saturated.rows_per_core / 2
            measured[share] = measure(logs / f"run-{share:g}", rate)
            print(f"{share:.0%}: {rate:,.0f} rows/s of each stream, {measured[share]:.3f} s", flush=True)
    first = SHARES[0]
    batch = measured[first] / modelled(first, cost, 1.0)
    rows = []
    for share in SHARES:
        model = modelled(share, cost, batch)
        off = f"{100 * (model / measured[share] - 1):+.0f} %" if share != first else "(fitted)"
        figures = (round(measured[share], 3), round(model, 3), off)
        rows.append((f"{share:.0%}", round(share * 5e5 / cost), *figures))
    text = (
        f"{TEXT}\n\nA row costs {cost:.1f} CPU-us, a batch without rows {batch:.3f} s. Machine: {described()}"
    )
    write(folder, "latency", "Latency by the model and by Spark", text, HEAD, rows)


def modelled(share: float, cost: float, batch: float) -> float:
    """[s] of the join at a share of the rate that fills the core; `cost` [CPU-us a row], `batch` [s]."""
    join = join_of(REACH)
    assert isinstance(join, Join)
    columns = tuple(Column(c.name, c.type, 8.0) for c in COLUMNS)
    streams = {f"bench/{a}": Stream(f"bench/{a}", share * 5e5 / cost, columns, ("n",), 32.0) for a in "ab"}
    query = Query("bench/q", {a: f"bench/{a}" for a in "ab"}, (replace(join, cost=cost, selectivity=0.0),))
    overheads = Overheads(exchange_latency=batch)
    problem = Problem(Cluster((Node("n", 1.0),), Network.uniform(1)), streams, (query,), overheads=overheads)
    plan = Plan((QueryPlan(query, {"j": "n"}, {"a": "n", "b": "n"}),))
    return evaluate(problem, plan).latency["bench/q"]


def measure(folder: Path, rate: float) -> float:
    """[s] from when the later row of a pair is written until the pair is in the sink's files, the mean, at
    `rate` [rows/s] of each stream.

    Raises:
        OSError: the fragment failed.
    """
    inputs = []
    for alias in "ab":
        (folder / alias).mkdir(parents=True)
        files = {"files": {"uri": str(folder / alias), "format": "arrow"}}
        inputs.append(Input(alias, "source", f"bench/{alias}", files, COLUMNS, "ts", 1_000_000))
    columns = tuple(OutputColumn(f"{alias}.ts", f"ts_{alias}") for alias in "ab")
    spec = FragmentSpec(
        name="latency",
        namespace="bench",
        query="latency",
        node="this",
        epoch=1,
        inputs=tuple(inputs),
        operators=(join_of(REACH),),
        output=Output("files", str(folder / "out"), {"format": "parquet"}, columns),
        checkpoint=str(folder / "checkpoint"),
        lease=str(folder / "lease.json"),
        state=str(folder / "state.json"),
        trigger_ms=TRIGGER,
    )
    process = PacedProcess(spec, 0, folder)
    try:
        limit = time.monotonic() + PATIENCE
        while not process.started():
            if time.monotonic() > limit:
                raise OSError(f"it has not started within {PATIENCE:.0f} s")
            time.sleep(STEP)
        feeder = threading.Thread(target=_feed, args=(folder, rate, time.time()), daemon=True)
        feeder.start()
        since = time.time() + SETTLED * SECONDS
        feeder.join()
        process.started()
    finally:
        process.process.terminate()
        process.process.wait(120)
    return _delay(folder / "out", since)


def _feed(folder: Path, rate: float, begin: float) -> None:
    """A file of each stream every `STEP` seconds, with the rows of that time."""
    count = round(rate * STEP)
    for number in range(round(SECONDS / STEP)):
        due = begin + (number + 1) * STEP
        time.sleep(max(0.0, due - time.time()))
        for seed, alias in enumerate("ab"):
            chance = np.random.default_rng([seed, number])
            times = np.full(count, due * 1e6).astype(np.int64)
            columns = [
                pa.array(chance.integers(0, KEYS, count)),
                pa.array(chance.integers(0, 50, count)),
                pa.array(chance.random(count)),
                pa.array(times, SCHEMA.field("ts").type),
            ]
            path = folder / f"{alias}-{number}"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
                writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA))
            os.rename(path, folder / alias / f"{number:010d}.arrow")


def _delay(folder: Path, since: float) -> float:
    import pyarrow.parquet as pq

    total, pairs = 0.0, 0
    for path in folder.rglob("*.parquet"):
        table = pq.read_table(path)
        later = np.maximum(*(table[f"ts_{a}"].cast(pa.int64()).to_numpy() / 1e6 for a in "ab"))
        later = later[later >= since]
        total += float((path.stat().st_mtime - later).sum())
        pairs += len(later)
    if not pairs:
        raise OSError(f"no pair has come to {folder}")
    return total / pairs


HEAD = ("core used by rows", "rows/s of each stream", "Spark [s]", "model [s]", "model off by")
TEXT = f"""
One fragment on one core joins two streams of {KEYS:,} keys within {REACH / 1e6:g} s; a file of each stream
comes every {STEP:g} s. Latency by Spark: from when the later row of a pair is written until the file with the
pair is, the mean over the last {1 - SETTLED:.0%} of {SECONDS:.0f} s. By the model
([model.md](../model.md#3-profile-and-headroom)): a batch's time over what rows leave of the core. What a row
costs was measured where the log is full already (`weir bench calibration` does the same), what a batch takes
without rows at the first rate; the other two rates are predictions.
""".strip()
