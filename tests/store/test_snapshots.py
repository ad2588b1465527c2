"""Snapshots below a prefix of a real object store: as on a folder, and whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_placement.model.location import STORE, Location
from weir_runtime.snapshots import places
from weir_runtime.snapshots.manifest import SnapshotError
from weir_runtime.store import ObjectStore

from tests.runtime.snapshot_job_cases import Copies, taken_read_restored_and_removed


@pytest.fixture
def scene(store: ObjectStore, tmp_path: Path) -> Copies:
    return Copies(tmp_path, Location(STORE, store.uri, store.options))


def test_taken_read_restored_and_removed(scene: Copies, store: ObjectStore) -> None:
    taken_read_restored_and_removed(scene)
    scene.do("remove", uid="u2")
    assert not list(store.names())


def test_a_kill_while_it_is_uploaded_leaves_nothing_that_can_be_used(
    scene: Copies, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, puts = ObjectStore.put_file, 0

    def killed(self: ObjectStore, name: str, path: Path) -> None:
        nonlocal puts
        puts += 1
        if puts == 10:
            raise SystemExit(9)
        put(self, name, path)

    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "put_file", killed)
        with pytest.raises(SystemExit):
            scene.do("take")
    assert len(list(store.names())) == 10
    with pytest.raises(SnapshotError, match="is not complete"):
        scene.do("read")
    with pytest.raises(SnapshotError, match="there is one already"):
        scene.do("take", uid="u2")
    scene.go_on()
    assert scene.do("take") == scene.do("read"), "begun anew: nothing of the first try is among it"


def test_an_object_that_is_damaged_is_named(scene: Copies, store: ObjectStore) -> None:
    scene.do("take")
    name = next(name for name in store.names() if name.endswith(".delta"))
    store.put(name, "x")
    with pytest.raises(SnapshotError, match=r"\.delta is damaged"):
        scene.do("read")
    assert places.TAKER in {path.rsplit("/", 1)[-1] for path in store.names()}
