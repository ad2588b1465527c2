"""A query that is moved before its first batch leaves nothing behind: Spark plans a first batch whatever a
reader says, and whoever takes the lease next would plan another one under its number."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.lease import FileLease
from weir_runtime.plan import SparkPlan
from weir_runtime.process import EXIT_TERMINATED, FragmentProcess
from weir_runtime.publish import BatchSink
from weir_runtime.source import Control, NotBegun, WeirStreamReader
from weir_runtime.sources import source_log

from tests.runtime.support import source, wait_for
from tests.runtime.test_two_lives import count, grow


class Drained(FragmentProcess):
    """A life that is told to stop as soon as its query starts."""

    def _start(self, plan: SparkPlan, sink: BatchSink, checkpoint: Checkpoint) -> StreamingQuery:
        self.control.set("drain")
        self.terminate.set()
        self.checkpoint, self.query = checkpoint, super()._start(plan, sink, checkpoint)
        return self.query


def test_it_plans_no_batch_and_gives_its_lease_back(spark: SparkSession, tmp_path: Path) -> None:
    grow(tmp_path / "a", range(3))
    spec = count(tmp_path)
    life = Drained(spec, FileLease(spec.lease))
    assert life.execute(spark) == EXIT_TERMINATED
    wait_for(lambda: life.checkpoint.planned() >= 0 or not life.query.isActive, "its query ends")
    assert life.checkpoint.planned() == -1
    record = FileLease(spec.lease).read()
    assert record is not None
    assert record.released


def test_a_reader_that_has_begun_ends_nothing(tmp_path: Path) -> None:
    grow(tmp_path / "a", range(3))
    control = Control(tmp_path)
    reader = WeirStreamReader(source_log(source("a", tmp_path / "a"), ""), "a", control, 64)
    first = reader.latestOffset(reader.initialOffset(), None)
    control.set("drain")
    assert reader.latestOffset(first, None) == first
    assert not control.is_set("unbegun")
    with pytest.raises(NotBegun):
        reader.latestOffset(reader.initialOffset(), None)
    assert control.is_set("unbegun")
    assert control.is_set("drained-a")
