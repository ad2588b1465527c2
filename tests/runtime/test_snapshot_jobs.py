"""What pods of the operator do about snapshots, on a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_operator.kube.snapshot_pod import SnapshotMount, job_of
from weir_placement.model.location import FOLDER, Location
from weir_runtime.snapshots import job, take
from weir_runtime.snapshots.manifest import SnapshotError

from tests.runtime.snapshot_job_cases import Copies, taken_read_restored_and_removed


@pytest.fixture
def scene(tmp_path: Path) -> Copies:
    return Copies(tmp_path, Location(FOLDER, str(tmp_path / "snapshots")))


def test_taken_read_restored_and_removed(scene: Copies) -> None:
    taken_read_restored_and_removed(scene)


def test_a_file_that_is_damaged_is_named_before_anything_is_reported(scene: Copies) -> None:
    scene.do("take")
    file = next((scene.root / "snapshots").rglob("*.delta"))
    file.write_text(file.read_text() + "1")
    with pytest.raises(SnapshotError, match=rf"{file.name} is damaged"):
        scene.do("read")
    assert not scene.reports


def test_a_kill_while_it_is_removed_is_made_good(scene: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.do("take")
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda *_, **__: exit(9))
        with pytest.raises(SystemExit):
            scene.do("remove")
    scene.do("remove")
    assert not list((scene.root / "snapshots" / "a").iterdir())


def test_a_query_without_a_batch_is_waited_for(scene: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = 0

    def take_later(*arguments: object) -> object:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise take.NotYet("it has committed no batch yet")
        return take.take(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("weir_runtime.snapshots.places.take", take_later)
    monkeypatch.setattr(job, "AGAIN", 0.0)
    assert scene.do("take")["files"]
    assert tries == 3
    monkeypatch.setattr(job, "PATIENCE", -1.0)
    tries = 0
    with pytest.raises(SnapshotError, match="no batch yet"):
        scene.do("take", uid="u2")
    assert tries == 1


def test_what_it_cannot_do_is_an_exit_code_and_a_word(
    scene: Copies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_file = tmp_path / "termination-log"
    message_file.touch()
    monkeypatch.setattr(job, "TERMINATION", message_file)
    unknown = job_of("read", "a/none", SnapshotMount(scene.place))
    (tmp_path / "job").write_text(unknown)
    assert job.main([str(tmp_path / "job")]) == job.CANNOT
    assert "manifest.json is missing: it is not complete" in message_file.read_text()
    assert job.main([]) == job.CANNOT
