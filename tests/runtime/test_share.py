"""Which rows of a delivered stream a plan publishes: those between the cuts of its begin and of its end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from weir_placement.model.change import Change
from weir_runtime.change import Share
from weir_runtime.compiler import TIME


def rows(*times: int) -> pa.Table:
    return pa.table({"v": [f"at {t}" for t in times], TIME: pa.array(times, pa.timestamp("us"))})


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
    own_rows = share.restrict(rows(1, 5, 6, 9))
    assert own_rows.column("v").to_pylist() == [f"at {t}" for t in left]
    newest = tmp_path / "hash.newest"
    assert (int(newest.read_text()) if newest.exists() else None) == max(left, default=None)


def test_a_cut_is_never_below_what_was_published_in_an_earlier_life(tmp_path: Path) -> None:
    Share(0, tmp_path / "hash").restrict(rows(3, 40))
    lease = asking(Change(1.0))
    share = Share(0, tmp_path / "hash")
    assert share.look(lease, 1, "me")
    assert [change.time for change in lease.told] == [40]
    assert share.restrict(rows(40, 41)).column("v").to_pylist() == ["at 40"]
    share.published(40)
    share.look(lease, 1, "me")
    assert lease.told[-1].passed
