"""Which rows of a delivered stream a plan publishes: those between the cuts of its begin and of its end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from weir_placement.model.change import Change
from weir_runtime.change import Share
from weir_runtime.compiler import TIME
from weir_runtime.lease import FileLease, holder_name


def rows(*times: int) -> pa.Table:
    return pa.table({"v": [f"at {t}" for t in times], TIME: pa.array(times, pa.timestamp("us"))})


def publish(share: Share, table: pa.Table, clock: int = 0) -> pa.Table:
    """A batch from its filter to its end."""
    mine = share.restrict(table)
    share.note()
    share.published(clock)
    return mine


def asking(change: Change | None) -> Any:
    """A lease that asks; what it is told is in `told`."""
    lease = SimpleNamespace(told=[])

    def answer(epoch: int, holder: str, agreed: Change) -> bool:
        lease.told.append(agreed)
        return True

    lease.read = lambda: SimpleNamespace(change=lease.told[-1] if lease.told else change)
    lease.answer = answer
    return lease


@pytest.mark.parametrize(
    ("after", "until", "left"),
    [
        (0, None, [1, 5, 6, 9]),
        (5, None, [6, 9]),
        (0, 6, [1, 5, 6]),
        (5, 6, [6]),
        (9, None, []),
    ],
)
def test_rows_are_a_plan_s_own_by_their_event_time(
    tmp_path: Path, after: int, until: int | None, left: list[int]
) -> None:
    share = Share(after, tmp_path / "hash")
    if until is not None:
        assert share.look(asking(Change(1.0, time=until)), 1, "me")
    own_rows = publish(share, rows(1, 5, 6, 9))
    assert own_rows.column("v").to_pylist() == [f"at {t}" for t in left]
    newest = tmp_path / "hash.newest"
    assert (int(newest.read_text()) if newest.exists() else None) == max(left, default=None)


def test_a_batch_of_which_all_rows_are_its_own_is_not_copied(tmp_path: Path) -> None:
    """It is mapped from a file, and a filtered one would be in memory."""
    share, table = Share(5, tmp_path / "c", 0, has_begun=True), rows(6, 7)
    assert share.restrict(table) is table


def test_a_cut_is_never_below_what_was_published_in_an_earlier_life(tmp_path: Path) -> None:
    publish(Share(0, tmp_path / "hash"), rows(3, 40))
    lease = asking(Change(1.0))
    share = Share(0, tmp_path / "hash")
    assert share.look(lease, 1, "me")
    assert [change.time for change in lease.told] == [40]
    assert share.restrict(rows(40, 41)).column("v").to_pylist() == ["at 40"]
    share.published(40)
    share.look(lease, 1, "me")
    assert lease.told[-1].passed


def test_rows_that_could_not_be_written_move_no_cut(tmp_path: Path) -> None:
    """Each life of a plan whose batch fails on its way to the sink: a cut behind these rows never passes."""
    share = Share(0, tmp_path / "hash")
    publish(share, rows(3), clock=3)
    share.restrict(rows(4, 40))
    lease = asking(Change(1.0))
    assert not share.look(lease, 1, "me"), "whether they are published is not known yet"
    assert not lease.told
    assert Share(0, tmp_path / "hash", clock=3).look(lease, 1, "me")
    assert lease.told[-1] == Change(1.0, time=3, passed=True)


def test_a_plan_behind_a_cut_that_has_published_nothing_is_through(tmp_path: Path) -> None:
    """Its first batch is planned, and fails."""
    lease = asking(Change(1.0))
    assert Share(5, tmp_path / "hash").look(lease, 1, "me")
    assert lease.told[-1] == Change(1.0, time=5, passed=True)


def test_a_cut_whose_answer_was_lost_is_kept_by_whoever_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, share = asking(Change(1.0)), Share(0, tmp_path / "hash")
    publish(share, rows(100))
    written, answer = lease.told, lease.answer
    lease.answer = lambda *it: answer(*it) and False  # it lands, and nobody hears of it
    old_view = SimpleNamespace(change=Change(1.0))
    read, lease.read = lease.read, lambda: old_view
    assert not share.look(lease, 1, "me")
    monkeypatch.setattr("weir_runtime.change.PATIENCE", 0.05)
    with pytest.raises(RuntimeError, match="not confirmed the cut"):
        share.restrict(rows(90, 101, 150))
    lease.answer, lease.read = answer, read
    assert share.look(lease, 1, "me")
    assert [change.time for change in written] == [100]
    assert share.restrict(rows(90, 101, 150)).column("v").to_pylist() == ["at 90"]


def test_a_batch_waits_until_the_cut_is_known(tmp_path: Path) -> None:
    lease, share = asking(Change(1.0)), Share(0, tmp_path / "hash")
    publish(share, rows(100))
    answer = lease.answer
    lease.answer = lambda *_: False
    assert not share.look(lease, 1, "me")
    lease.answer = answer
    with ThreadPoolExecutor() as pool:
        batch = pool.submit(share.restrict, rows(101))
        assert not wait([batch], timeout=0.05).done
        assert share.look(lease, 1, "me")
        assert batch.result(10).num_rows == 0


def test_a_cut_that_was_agreed_to_is_never_another_one(tmp_path: Path) -> None:
    lease = FileLease(str(tmp_path / "lease"))
    assert lease.acquire(1, holder_name(), 10.0)
    lease.request_cut(1.0)
    assert lease.answer(1, holder_name(), Change(1.0, time=100))
    assert not lease.answer(1, holder_name(), Change(1.0, time=200))
    assert lease.answer(1, holder_name(), Change(1.0, time=100, passed=True))
    record = lease.read()
    assert record is not None
    assert record.change == Change(1.0, time=100, passed=True)
