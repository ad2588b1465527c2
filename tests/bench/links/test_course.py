"""What a contender has taken, beside what was sent."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.bench.links.contenders import Counted, Reading, slowest
from tests.bench.links.pace import PaceCourse
from tests.bench.links.pods.feed import target
from tests.bench.links.rows import Written


def test_the_slowest_reader_of_a_stream_counts() -> None:
    assert slowest([{"a": 5, "b": 7}, {"a": 3}, {"b": 9}]) == {"a": 3, "b": 7}


def test_a_counter_goes_on_when_its_process_begins_anew() -> None:
    counted = Counted()
    assert [counted.total(value) for value in (5, 8, 2, 4)] == [5, 8, 10, 12]


class Still:
    """Has taken what it is told; nothing else is asked of it here."""

    def __init__(self, reading: Reading) -> None:
        self.told = reading

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def where(self) -> dict[str, str]:
        return {}

    def reading(self) -> Reading:
        return self.told


def course(folder: Path, reading: Reading) -> PaceCourse:
    return PaceCourse(folder, Written(10, 0, {"a": 1.0}), ("z",), Still(reading), dict, float)


def told(folder: Path, at: float, count: int) -> None:
    (folder / "sent-z.json").write_text(json.dumps({"at": at, "sent": {"a": count}}))


def test_lag_is_that_of_the_oldest_row_that_waits(tmp_path: Path) -> None:
    now = time.time()
    run = course(tmp_path, Reading(now, {"a": 100.0}))
    told(tmp_path, now - 20, 100)
    assert run.look().lag == 0
    told(tmp_path, now - 10, 300)
    assert run.look().lag == pytest.approx(20, abs=1)


def test_a_flow_inside_that_waits_is_lag_too(tmp_path: Path) -> None:
    now = time.time()
    told(tmp_path, now, 100)
    run = course(tmp_path, Reading(now - 30, {"a": 100.0}, {"f": (5.0, 5.0)}))
    assert run.look().lag == 0
    run.contender = Still(Reading(now, {"a": 100.0}, {"f": (9.0, 5.0)}))
    assert run.look().lag == pytest.approx(30, abs=1)


def test_a_new_rate_begins_where_the_last_one_has_come_to(tmp_path: Path) -> None:
    run = course(tmp_path, Reading(0, {}))
    run.set_rate(100)
    run.set_rate(10)
    before, after = json.loads((tmp_path / "pace.json").read_text())
    assert after["position"] == pytest.approx(target([before], after["at"]))
