"""Readers that begin in the middle of a source: an edited query finds its place without reading what is
before it, and files that were deleted are passed over in words."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from weir_placement.model.fragment import Input
from weir_runtime.logs import notes
from weir_runtime.logs.log import Log
from weir_runtime.names import TIMES, batch_name
from weir_runtime.sources import source_log
from weir_runtime.sweep import sweep

from tests.runtime.support import ORIGIN, append_batch, source
from tests.runtime.test_findings import SECOND
from tests.runtime.test_no_listing import watched

FILES = 40


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A file for each second, every fifth one out of order."""
    for number in range(FILES):
        append_batch(tmp_path / "a", number, [(1, number, (number - 3 * (number % 5 == 4)) * SECOND)])
    return tmp_path / "a"


@pytest.fixture(autouse=True)
def at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "NOTE", 0.0)


def reader(root: Path, name: str, after: int = 0) -> Log:
    """Of another fragment of the same namespace."""
    item: Input = source("a", root / "a")
    since = ORIGIN + after * SECOND if after else 0
    return source_log(replace(item, after=since), str(root / "late" / "default" / name / "a"))


def read_all(log: Log, most: int = 3) -> None:
    log = pickle.loads(pickle.dumps(log))  # as it comes to the process that reads
    place = log.start()
    while (ahead := log.advance(place, 0, most).place) != place:
        log.committed(ahead)
        place = ahead


@pytest.mark.parametrize("after", [2, 9, 17, 33, 38])
def test_a_changed_plan_begins_where_a_reader_of_the_whole_log_says(
    tmp_path: Path, log: Path, after: int
) -> None:
    expected = reader(tmp_path, "first", after).start()
    read_all(reader(tmp_path, "old"))
    with watched(log) as opened:
        assert reader(tmp_path, "new", after).start() == expected
        assert opened()[1] <= 8, "those since the last note, not all before"


def test_notes_of_a_log_that_was_begun_anew_count_for_nothing(tmp_path: Path, log: Path) -> None:
    read_all(reader(tmp_path, "old"))
    for number in range(FILES):
        (log / batch_name(number, "parquet")).unlink()
    append_batch(log, 0, [(1, 1, SECOND), (1, 2, 20 * SECOND)])
    assert reader(tmp_path, "new", 30).start() == {"next": 1, "max": ORIGIN + 20 * SECOND}


def test_notes_are_thinned_and_kept_by_all_readers(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "MOST", 10)
    read_all(reader(tmp_path, "old"), most=1)
    read_all(reader(tmp_path, "other"), most=2)
    (file,) = (tmp_path / "late" / "default" / TIMES).iterdir()
    assert 5 <= len(json.loads(file.read_text())) <= 10
    expected = reader(tmp_path / "elsewhere", "x", 25)
    assert reader(tmp_path, "new", 25).start()["next"] == 26
    assert expected.start() == {"next": 0, "max": None}, "its folder is empty"


def test_notes_stay_as_long_as_a_fragment_does(tmp_path: Path, log: Path) -> None:
    read_all(reader(tmp_path, "old"))
    times = tmp_path / "late" / "default" / TIMES
    sweep(tmp_path, "default", frozenset({"new"}), "east")
    assert times.is_dir()
    sweep(tmp_path, "default", frozenset(), "east")
    assert not times.exists()


def delete(log: Path, below: int) -> None:
    for number in range(below):
        (log / batch_name(number, "parquet")).unlink()


def test_a_new_reader_begins_at_the_first_file_that_is_left(
    tmp_path: Path, log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    delete(log, 7)
    assert reader(tmp_path, "new").start() == {"next": 7, "max": None}
    warning = capfd.readouterr().err
    assert warning == f"{log}/0000000000.parquet is gone; reading begins at 0000000007.parquet\n"


def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert reader(tmp_path, "new").start() == {"next": 0, "max": None}
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.parquet").touch()
    assert reader(tmp_path, "new").start() == {"next": 0, "max": None}
    assert capfd.readouterr().err == ""


def test_a_changed_plan_does_not_miss_in_silence_what_was_deleted(tmp_path: Path, log: Path) -> None:
    delete(log, 7)
    assert reader(tmp_path, "new", 20).start()["next"] == 21, "files before it are there, and not needed"
    with pytest.raises(
        ValueError, match=r"0000000000.parquet is gone, like all files before 0000000007.parquet; .* later"
    ):
        reader(tmp_path, "new", 3).start()
