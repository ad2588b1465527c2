"""A lease is kept whatever else a process waits for, and a process that makes no progress says so."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from prometheus_client import CollectorRegistry
from weir_placement.model.fragment import Output
from weir_runtime import renewal as renewal_module
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.lease import FileLease, LeaseRecord, holder_name
from weir_runtime.plan import SparkPlan
from weir_runtime.process import FragmentProcess
from weir_runtime.publish import BatchSink, Fence
from weir_runtime.renewal import Renewal, now
from weir_runtime.status import STUCK, ProcessStatus, serve

from tests.runtime.support import fragment, source, wait_for

SHORT = 0.3
"""[s] of a lease."""


class SlowSink(BatchSink):
    """A store that answers only when the lease was renewed three times."""

    def __init__(self, lease: FileLease) -> None:
        self.lease = lease

    def claim(self, numbering: str, fresh: bool) -> None:
        times = set()

        def renewed() -> bool:
            record = self.lease.read()
            assert record is not None
            times.add(record.renewed)
            return len(times) > 3

        wait_for(renewed, "three renewals", 30)

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        return 0


def test_slow_storage_does_not_take_the_lease(tmp_path: Path) -> None:
    item = source("a", tmp_path / "a")
    spec = fragment(tmp_path, "f", [item], [], Output("noop"), lease_seconds=SHORT)
    lease = FileLease(spec.lease)
    process = FragmentProcess(spec, lease)
    try:
        plan = SparkPlan(None, (), {}, 0, 0)  # type: ignore[arg-type]
        process._begin(plan, SlowSink(lease), Checkpoint(tmp_path / "c"))
    finally:
        process.tenure.stop()


def test_a_lease_that_another_one_has_is_lost(tmp_path: Path) -> None:
    lease = FileLease(tmp_path / "lease.json")
    lease.acquire(1, holder_name(), SHORT)
    renewal = Renewal(lease, 1, holder_name(), SHORT)
    renewal.start(now())
    lease._write(LeaseRecord(2, "another:1:1", 0.0, SHORT))
    assert renewal.lost.wait(30)
    renewal.stop()
    record = lease.read()
    assert record is not None
    assert record.epoch == 2


def test_nothing_is_renewed_after_the_end(tmp_path: Path) -> None:
    lease = FileLease(tmp_path / "lease.json")
    lease.acquire(1, holder_name(), SHORT)
    renewal = Renewal(lease, 1, holder_name(), SHORT)
    renewal.stop()  # of a process that ends before it has the lease
    renewal = Renewal(lease, 1, holder_name(), SHORT)
    renewal.start(now())
    renewal.stop()
    assert not renewal._thread.is_alive()
    assert lease.release(1, holder_name())


@pytest.mark.parametrize("late", [True, False])
def test_of_an_unbroken_renewal_an_answer_after_the_end_comes_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    time_of_day = [100.0]
    monkeypatch.setattr(renewal_module, "now", lambda: time_of_day[0])

    class LeaseConfirmedLate(FileLease):
        def renew(self, epoch: int, holder: str) -> bool:
            renewed = super().renew(epoch, holder)
            time_of_day[0] += 8.0 if late else 4.0
            return renewed

    lease = LeaseConfirmedLate(tmp_path / "lease.json")
    lease.acquire(1, holder_name(), 10.0)
    renewal = Renewal(lease, 1, holder_name(), 10.0, unbroken=True)
    renewal._confirmed = 100.0
    time_of_day[0] = 105.0
    renewal.renew()
    assert (renewal.lost.is_set(), renewal.holds()) == (late, not late)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """[s] What `time.monotonic` says to the status."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_batch_that_does_not_end_is_not_healthy(tmp_path: Path, clock: list[float]) -> None:
    status = ProcessStatus(str(tmp_path / "state.json"), "f", 1)
    port = serve(status, CollectorRegistry(), 0)

    def turn(seconds: float) -> tuple[int, dict[str, Any]]:
        clock[0] += seconds
        status.beat()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    status.say(phase="running")
    assert turn(2 * STUCK)[0] == 200, "nothing arrives, so nothing runs"
    status.begin(7)
    assert turn(STUCK - 1)[0] == 200
    code, body = turn(2)
    assert (code, body["error"]) == (503, "batch 7 has been running for 601 s, longer than 600 s")
    status.say(batch=7)
    assert turn(1)[0] == 200
    status.begin(8)
    status.say(phase="failed", error="the reason")
    assert turn(2 * STUCK)[1]["error"] == "the reason"


def test_a_process_that_does_not_look_any_more_is_not_healthy(tmp_path: Path, clock: list[float]) -> None:
    status = ProcessStatus(str(tmp_path / "state.json"), "f", 1)
    status.say(phase="starting")
    clock[0] += 2 * STUCK
    assert status.hangs() == "", "a start has its own probe"
    status.say(phase="running")
    status.beat()
    clock[0] += STUCK + 1
    assert status.hangs() == "the process has not looked at its query for 601 s"
