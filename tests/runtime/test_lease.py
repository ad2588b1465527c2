"""Who may publish."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from weir_placement.model.change import Change
from weir_placement.model.hosted import HostedHolder
from weir_runtime.lease import FileLease, LeaseRecord, holder_is_gone, holder_name, owns

ALIVE = holder_name()
OTHER_HOST = "elsewhere:1:2"


@pytest.fixture
def lease(tmp_path: Path) -> FileLease:
    return FileLease(tmp_path / "lease.json")


def dead_holder() -> str:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = holder_name(process.pid)
    process.communicate()
    return name


def test_the_first_one_takes_it(lease: FileLease) -> None:
    assert lease.acquire(1, ALIVE, 10)
    assert owns(lease.read(), 1, ALIVE)


def test_a_held_lease_is_not_taken(lease: FileLease) -> None:
    assert lease.acquire(1, OTHER_HOST, 10)
    assert not lease.acquire(1, ALIVE, 10)
    lease.hand_over(2)
    assert not lease.acquire(2, ALIVE, 10), "handed over, but not released"


def test_a_released_lease_goes_to_the_invited_epoch_only(lease: FileLease) -> None:
    lease.acquire(1, OTHER_HOST, 10)
    lease.hand_over(2)
    assert lease.release(1, OTHER_HOST)
    assert not lease.acquire(3, ALIVE, 10)
    assert not lease.acquire(1, ALIVE, 10)
    assert lease.acquire(2, ALIVE, 10)
    record = lease.read()
    assert record is not None
    assert (record.epoch, record.handover, record.released) == (2, None, False)


def test_the_process_of_a_dead_holder_is_followed_at_once(lease: FileLease) -> None:
    gone = dead_holder()
    assert holder_is_gone(gone)
    lease.acquire(1, gone, 3600)
    assert lease.acquire(1, ALIVE, 10)


def test_a_later_process_of_the_same_number_is_not_the_holder() -> None:
    host, pid, start = ALIVE.rsplit(":", 2)
    assert holder_is_gone(f"{host}:{pid}:{int(start) - 1}")
    assert holder_is_gone(f"{host}:{2**22 + 1}:0"), "of a process that ended before it was looked at"
    assert not holder_is_gone(ALIVE)
    assert not holder_is_gone(OTHER_HOST), "of another host nothing is known"


def test_an_unrenewed_lease_expires_on_the_watchers_clock(lease: FileLease) -> None:
    """Whatever the holder's clock says: its `renewed` may lie in the future."""
    lease.acquire(1, OTHER_HOST, 0.05)
    assert not lease.acquire(1, ALIVE, 10), "seen for the first time"
    limit = time.monotonic() + 10
    while not lease.acquire(1, ALIVE, 10):
        assert time.monotonic() < limit
    assert owns(lease.read(), 1, ALIVE)


def test_a_renewal_of_the_host_while_its_lease_was_read_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing refuses the take-over: it changes another file than the renewal."""
    host = FileLease(tmp_path / "host.json")
    host.acquire(7, OTHER_HOST, 10)
    seconds = [0.0]

    class LeaseBesideSlowHost(FileLease):
        def _host_lease(self, location: str) -> FileLease:
            return HostLeaseReadSlowly(location)

    class HostLeaseReadSlowly(FileLease):
        def read(self) -> LeaseRecord | None:
            record = super().read()
            seconds[0] += 6.0  # the answer is on its way
            return record

    fragment = LeaseBesideSlowHost(tmp_path / "lease.json")
    fragment.acquire(1, str(HostedHolder(str(host._path), 7, 1)), 10)
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
    assert not fragment.acquire(1, ALIVE, 10), "seen for the first time, at 6 s"
    assert not fragment.acquire(1, ALIVE, 10)
    assert not fragment.acquire(1, ALIVE, 10), "it is 18 s, but who knows what it says since 12 s"
    assert fragment.acquire(1, ALIVE, 10)


def test_a_fragment_in_a_host_is_taken_when_its_incarnation_is_over(lease: FileLease, tmp_path: Path) -> None:
    host = FileLease(tmp_path / "host.json")
    host.acquire(7, OTHER_HOST, 3600)
    lease.acquire(1, str(HostedHolder(str(host._path), 7, 1)), 3600)
    assert not lease.acquire(1, ALIVE, 10)
    record = host.read()
    assert host.swap(record, LeaseRecord(8, OTHER_HOST, 0.0, 3600))
    assert not host.swap(record, LeaseRecord(9, OTHER_HOST, 0.0, 3600)), "there is another one by now"
    assert lease.acquire(1, ALIVE, 10)


def test_a_renewed_lease_does_not_expire(lease: FileLease) -> None:
    watcher = FileLease(lease._path)
    lease.acquire(1, OTHER_HOST, 0.05)
    for _ in range(8):
        assert not watcher.acquire(1, ALIVE, 10)
        assert lease.renew(1, OTHER_HOST)
    assert owns(lease.read(), 1, OTHER_HOST)


def test_the_fence() -> None:
    record = LeaseRecord(2, "x:1:1", 0.0, 10.0)
    assert owns(record, 2, "x:1:1")
    assert not owns(record, 1, "x:1:1")
    assert not owns(record, 2, "y:1:1")
    assert not owns(None, 2, "x:1:1")


def test_handing_over_an_unheld_lease_lets_only_that_epoch_begin(lease: FileLease) -> None:
    lease.hand_over(5)
    assert not lease.acquire(4, ALIVE, 10)
    assert lease.acquire(5, ALIVE, 10)
    assert os.path.exists(lease._path)


def test_where_nobody_has_had_it_a_plan_ends_where_it_began(lease: FileLease) -> None:
    """Whoever takes it afterwards reads that none of its rows are to be published."""
    lease.request_cut(20.0, 7)
    lease.request_cut(99.0, 8)
    assert lease.acquire(1, ALIVE, 10)
    assert lease.read().change == Change(20.0, 7, passed=True)  # type: ignore[union-attr]


def test_whoever_was_quicker_answers_for_its_plan(lease: FileLease) -> None:
    assert lease.acquire(1, ALIVE, 10)
    lease.request_cut(20.0, 7)
    assert lease.read().change == Change(20.0)  # type: ignore[union-attr]


def test_one_that_does_not_deliver_is_told_the_cut_once(lease: FileLease) -> None:
    lease.acquire(1, ALIVE, 10)
    lease.request_cut(20.0, time=7)
    lease.request_cut(20.0, time=8)
    assert lease.read().change == Change(20.0, 7)  # type: ignore[union-attr]


def test_a_cut_is_asked_once_agreed_by_the_holder_alone_and_stays_with_the_next_one(lease: FileLease) -> None:
    with pytest.raises(OSError, match="no process has acquired it"):
        lease.request_cut(20.0)
    lease.acquire(1, ALIVE, 10)
    lease.request_cut(20.0)
    lease.request_cut(99.0)
    assert lease.read().change == Change(20.0)  # type: ignore[union-attr]
    assert not lease.answer(1, OTHER_HOST, Change(20.0, 5)), "not the holder"
    assert lease.answer(1, ALIVE, Change(20.0, 1_700_000_000_000_001))
    lease.hand_over(2)
    assert lease.release(1, ALIVE)
    assert lease.acquire(2, OTHER_HOST, 10)
    lease.request_cut(99.0)
    assert lease.read().change == Change(20.0, 1_700_000_000_000_001)  # type: ignore[union-attr]
