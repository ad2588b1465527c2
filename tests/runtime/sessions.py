"""One Spark session for all tests that run fragments in this process (fixtures of two conftests)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec
from weir_runtime.lease import FileLease
from weir_runtime.process import FragmentProcess
from weir_runtime.session import start_session

Run = Callable[[FragmentSpec], FragmentProcess]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Small: one core, half a gigabyte."""
    session = start_session(cores=1, heap_mb=600, app="tests")
    yield session
    session.stop()


@pytest.fixture
def run(spark: SparkSession) -> Run:
    """Runs a fragment with finite inputs to its end, in the shared session."""

    def run_one(spec: FragmentSpec) -> FragmentProcess:
        fragment = FragmentProcess(spec, FileLease(spec.lease))
        assert fragment.execute(spark) == 0
        assert fragment.status.phase == "finished"
        assert dropped(fragment) == 0, "Spark dropped rows as late"
        return fragment

    return run_one


def dropped(fragment: FragmentProcess) -> float:
    """Rows that Spark has dropped behind a watermark."""
    value = fragment.metrics.registry.get_sample_value("weir_dropped_rows_total", fragment.metrics.plain)
    assert value is not None
    return value
