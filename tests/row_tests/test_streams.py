"""Tests of queries run as streams on Spark: in pieces, in any order in which no row is late."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from weir_operator.testing.cases import load_cases
from weir_operator.testing.judge import difference
from weir_operator.testing.pieces import on_time_rows, out_of_order, pieces
from weir_operator.testing.runs import StreamRunner, run_as_batch
from weir_placement.model.streams import Stream

from tests.row_tests.cases import SELLERS, SUMS, write
from tests.runtime.sessions import spark

__all__ = ["spark"]


@pytest.mark.parametrize("test", [SUMS, SELLERS], ids=["late rows and windows", "a join"])
def test_streams_give_the_rows_of_the_batch(spark: SparkSession, tmp_path: Path, test: str) -> None:
    (case,) = load_cases([str(write(tmp_path, test))])
    expected, runner = run_as_batch(case), StreamRunner(spark)
    assert expected.num_rows == len(case.expected)
    for run in (runner.as_written, runner.out_of_order):
        wrong = difference(expected, run(case, Random(7)))
        assert not wrong, (run, wrong)


def test_the_command_runs_streams(tmp_path: Path) -> None:
    folder = write(tmp_path, SELLERS, SELLERS.replace("name: bids", "name: other").replace("ann}", "bob}", 1))
    command = [sys.executable, "-c", "import sys; from weir_operator.cli import main; sys.exit(main())"]
    process = subprocess.run([*command, "test", str(folder)], capture_output=True, text=True)
    assert process.returncode == 1, process.stderr
    assert "pass  bids-within-ten-seconds: rows: 2" in process.stdout
    assert process.stdout.endswith("tests: 2, failed: 1\n")


@given(
    st.lists(st.integers(1, 60), max_size=12),
    st.integers(0, 20),
    st.randoms(use_true_random=False),
)
def test_no_row_of_another_order_is_late(seconds: list[int], delay: int, random: Random) -> None:
    times = pa.array([s * 1_000_000 for s in seconds], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.table({"ts": times, "i": pa.array(range(len(seconds)), pa.int64())})
    stream = Stream("default/s", 1.0, (), (), 8.0, event_time="ts", delay=float(delay))
    on_time = on_time_rows(rows, stream)
    shuffled = out_of_order(on_time, stream, random)
    assert on_time_rows(shuffled, stream).num_rows == on_time.num_rows
    assert sorted(shuffled.column("i").to_pylist()) == on_time.column("i").to_pylist()
    parts = pieces(shuffled, random)
    assert pa.concat_tables(parts).equals(shuffled)
    assert 1 <= len(parts) <= 4
