"""What a row costs in Spark: our source against Spark's own, state in memory against RocksDB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_runtime.session import STATE_STORE

from weir_operator.bench.calibrate import AGGREGATE, filter_of, join_of
from weir_operator.bench.saturation import Saturated, fit, saturate, write_log

FILES = 64
KEYS = 200_000
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FORMS = ("arrow", "parquet", "json")
REACH = {"small": 2_000_000, "large": 120_000_000}
"""[us] of the join: so many milliseconds, so many rows of each side are in its state."""
STORES = {"memory": STATE_STORE, "RocksDB": ROCKS}


def runtime(folder: Path) -> None:
    """`weir bench runtime`: a dozen fragments on one core, one after the other; about four minutes."""
    rows: list[tuple[str | float, ...]] = []

    def note(what: str, how: str, saturated: Saturated) -> None:
        rows.append((what, how, round(saturated.cpu_per_row, 2), round(saturated.wall_rate)))
        print(*rows[-1], flush=True)

    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        logs = Path(name)
        for form in FORMS:
            write_log(logs / form, FILES, KEYS, 1, form)
        write_log(logs / "b", FILES, KEYS, 2)
        for form in FORMS:
            log = {"a": logs / form}
            note(
                f"source, {form}", "ours", saturate(f"ours-{form}", [filter_of(1, "a")], log, logs, form=form)
            )
            if form != "arrow":  # Spark has no source of Arrow files
                note(f"source, {form}", "Spark's", native(form, logs))
        two = {"a": logs / "arrow", "b": logs / "b"}
        for store, provider in STORES.items():
            settings = {"spark.sql.streaming.stateStore.providerClass": provider}
            saturated = saturate(f"aggregate-{store}", [AGGREGATE], {"a": two["a"]}, logs, settings=settings)
            note("aggregate, 50 groups", store, saturated)
            for size, reach in REACH.items():
                saturated = saturate(f"join-{size}-{store}", [join_of(reach)], two, logs, settings=settings)
                note(f"join, {reach // 1000:,} rows a side", store, saturated)
    write(folder, "runtime", "What a row costs in Spark", f"{TEXT}\n\nMachine: {described()}", HEAD, rows)


def native(form: str, logs: Path, core: int = 0) -> Saturated:
    """Spark's own source of that format, measured as a fragment is."""
    command = [sys.executable, "-m", "weir_operator.bench.native_source", form, str(logs / form)]
    command += [str(logs / f"native-{form}"), str(FILES)]
    with open(logs / f"native-{form}.log", "wb") as log:
        output = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=log, check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        ).stdout  # fmt: skip
    return fit(form, [tuple(json.loads(line)) for line in output.splitlines()])


HEAD = ("what", "by", "CPU-us a row", "rows/s by the clock")
TEXT = """
Fragments on one core over logs that are full already, four files of 5,000 rows a batch; CPU time of the whole
process tree once they are warm. Source: a filter that lets all pass, by our data source (Python, through
Arrow) and by Spark's own. State: both providers of Spark for the same aggregate and join (200,000 keys).
""".strip()
