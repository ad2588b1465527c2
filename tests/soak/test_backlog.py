"""A reader was away while its producer went on: it comes back to more than its heap holds, and nothing is
lost."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec, Input, Output, TypedColumn
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter, Join, Window
from weir_runtime import results
from weir_runtime.results import Results

from tests.runtime.support import COLUMNS, ORIGIN, files_output, fragment, launch, sink_rows, source, state
from tests.runtime.support import SCHEMA as ROWS

FILES = 64
FILE_MB = int(os.environ.get("WEIR_BACKLOG_MB", "30"))
WIDTH = 10_000
"""[bytes] of a row's wide column, which no format makes smaller."""


def write_files(folder: Path) -> int:
    """Row i has v = i; how many there are."""
    folder.mkdir(parents=True)
    random, rows = np.random.default_rng(1), FILE_MB * 2**20 // WIDTH
    for number in range(FILES):
        index = np.arange(number * rows, (number + 1) * rows)
        wide = pa.array([random.bytes(WIDTH // 2).hex() for _ in index])
        times = pa.array(ORIGIN + 1 + index).cast(ROWS.field("ts").type)
        table = pa.table({"k": index % 7, "v": index, "ts": times, "wide": wide})
        pq.write_table(table, folder / f"{number:010d}.parquet")
    (folder / "END").touch()
    return FILES * rows


class MostMemory(threading.Thread):
    """The most that a process and its children have had in memory at the same time [bytes]."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.most, self.over = pid, 0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self.over.wait(0.2):
            self.most = max(self.most, sum(map(own_memory, tree(self.pid))))


def tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(below for child in children for below in tree(int(child)))]


def own_memory(pid: int) -> int:
    """Without what others share with it, as mapped files."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon"))


def run_measured(spec: FragmentSpec) -> None:
    start = time.monotonic()
    process = launch(spec)
    memory = MostMemory(process.pid)
    assert process.wait(1_200) == 0, state(spec)
    memory.over.set()
    memory.join()
    took = time.monotonic() - start
    print(f"{spec.name}: {memory.most / 2**20:.0f} MiB beside files, heap {spec.heap_mb} MiB, {took:.0f} s")


def test_a_reader_that_was_away_comes_back_to_more_than_its_heap(tmp_path: Path) -> None:
    rows = write_files(tmp_path / "a")
    wide = replace(source("a", tmp_path / "a"), columns=(*COLUMNS, TypedColumn("wide", "STRING")))
    flow = Location("folder", str(tmp_path / "flow"))
    every = Filter("f", ("a",), predicate="a.v >= 0")
    producer = fragment(tmp_path, "p", [wide], [every], Output("exchange", flow=flow, consumers=("r",)))
    run_measured(producer)
    published = sorted((tmp_path / "flow").glob("*.arrow"))
    assert max(path.stat().st_size for path in published) < 80 * 2**20, "hops do not multiply"
    reads = Input("f", "exchange", flow=flow)
    every = replace(every, id="g", inputs=("f",))
    run_measured(fragment(tmp_path, "r", [reads], [every], files_output(tmp_path / "out", "a.v", "a.wide")))
    values = [v for path in (tmp_path / "out").glob("*.parquet") for v in column(path, "a_v")]
    missing, doubled = rows - len(set(values)), len(values) - len(set(values))
    print(f"missing {missing}, doubled {doubled} of {rows} rows")
    assert sorted(values) == [*range(rows)]


def column(path: Path, name: str) -> list[int]:
    read: list[int] = pq.read_table(path, columns=[name]).column(0).to_pylist()
    return read


def test_a_join_that_makes_more_rows_than_a_heap_holds(tmp_path: Path) -> None:
    """Its batch is durable before it is run, so it would end every later start as well."""
    side = int((FILE_MB * FILES * 2**20 / WIDTH) ** 0.5)
    wide = "w" * (WIDTH - 100)
    for alias in ("a", "b"):
        folder = tmp_path / alias
        folder.mkdir()
        times = pa.array([ORIGIN + 1 + i for i in range(side)]).cast(ROWS.field("ts").type)
        table = pa.table(
            {"k": [1] * side, "v": [*range(side)], "ts": times, "wide": [wide if alias == "a" else ""] * side}
        )
        pq.write_table(table, folder / "0000000000.parquet")
        (folder / "END").touch()
    columns = (*COLUMNS, TypedColumn("wide", "STRING"))
    inputs = [replace(source(alias, tmp_path / alias), columns=columns) for alias in ("a", "b")]
    near = Join("j", ("a", "b"), on="a.k = b.k", windows=(Window("a", "b", -(10**6), 10**6),))
    flow = Location("folder", str(tmp_path / "flow"))
    run_measured(fragment(tmp_path, "j", inputs, [near], Output("exchange", flow=flow)))
    reads = Input("j", "exchange", flow=flow)
    run_measured(fragment(tmp_path, "r", [reads], [], files_output(tmp_path / "out", "a.v", "b.v")))
    assert sink_rows(tmp_path / "out") == sorted(((a, b) for a in range(side) for b in range(side)), key=repr)


def test_a_result_is_left_in_pieces_until_results_are_small(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order and with the types that Spark gives itself."""
    collected = Results(tmp_path / "results")
    frame = spark.range(2_000).selectExpr(
        "id AS `a.id`",
        "repeat('w', 20000) AS wide",
        "timestamp_micros(id) AS ts",
        "CAST(id AS DECIMAL(20, 2)) AS price",
    )
    expected = frame.toArrow()
    for _ in range(2):
        table = collected.collect(frame)
        assert table == expected
        assert len(list((tmp_path / "results").iterdir())) == 1
        assert max(batch.nbytes for batch in table.to_batches()) < 2 * results.SMALL
    nothing = collected.collect(frame.where("`a.id` < 0"))
    assert nothing == expected.slice(0, 0)
    assert not list((tmp_path / "results").iterdir()), "no file without rows"
    assert collected.collect(frame) == expected
    assert not list((tmp_path / "results").iterdir()), "after a small one it goes through the heap"
    assert collected.collect(frame) == expected
    assert list((tmp_path / "results").iterdir()), "after a large one it does not"
