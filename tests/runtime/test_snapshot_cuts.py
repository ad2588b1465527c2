"""Snapshots are consistent however the files that are copied lie among the steps of the fragments that run:
no fragment has read what its producer does not have, and what lies between them is there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.model.fragment import Output
from weir_placement.model.location import Location
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.snapshots import take as module
from weir_runtime.snapshots.manifest import FragmentCut, SnapshotError, SnapshotManifest, verify
from weir_runtime.snapshots.take import take

from tests.runtime.snapshot_model import Running
from tests.runtime.support import files_output, fragment


def judge(folder: Path, manifest: SnapshotManifest, fragments: list[Running]) -> None:
    """Whether each fragment can go on from the snapshot with what there is in it."""
    verify(folder, manifest)
    cuts = dict(zip((f.spec.name for f in fragments), manifest.fragments, strict=True))
    for i, running in enumerate(fragments):
        own, cut = folder / "fragments" / str(i), cuts[running.spec.name]
        _judge_checkpoint(own / "checkpoint", cut)
        flow = sorted(int(path.stem) for path in (own / "flow").glob("*.arrow"))
        for reader in running.readers:
            theirs = cuts[reader.spec.name]
            read = Checkpoint(folder / "fragments" / str(fragments.index(reader)) / "checkpoint")
            place, planned = (
                read.offsets(batch)[running.flow.name]["at"]["next"]
                for batch in (theirs.committed, theirs.planned)
            )
            assert planned <= cut.planned + 1, "nobody has read what is not planned"
            assert {*range(place, planned)} <= {*flow}, "a batch that is run again finds its rows"
            assert {*range(place, cut.committed + 1)} <= {*flow}, "nothing that is committed is lost"
        assert not flow or flow[-1] <= cut.planned, "nothing is there that would be made with other rows"


def _judge_checkpoint(folder: Path, cut: FragmentCut) -> None:
    checkpoint = Checkpoint(folder)
    assert (checkpoint.committed(), checkpoint.planned()) == (cut.committed, cut.planned)
    assert cut.planned - cut.committed in (0, 1)
    versions = {int(path.stem) for path in folder.glob("state/0/0/*.delta")}
    assert max(versions) == cut.committed + 1
    assert (folder / "state/0/0" / f"{cut.committed + 1}.delta").read_text() == str(
        checkpoint.offsets(cut.committed)[next(iter(cut.places))]["at"]["next"]
    )


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 3]))
def test_a_cut_is_consistent_at_whatever_moment_a_file_is_copied(seed: int, most: int) -> None:
    """Before each file that is copied the fragments make up to `most` steps, in any order."""
    random = Random(seed)
    root = Path(tempfile.mkdtemp())
    copy: Callable[[Path, Path], None] = module._copy_file
    try:
        first = Running(root, "f0", None)
        fragments = [first, Running(root, "f1", first)]
        fragments.append(Running(root, "f2", fragments[1]))
        for who in ([0, 1, 2] * 4, *([who] * random.randint(1, 9) for who in random.choices(range(3), k=12))):
            for one in who:
                fragments[one].step()

        def copy_among_steps(source: Path, target: Path) -> None:
            for who in random.choices(range(3), k=random.randint(0, most)):
                fragments[who].step()
            copy(source, target)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_copy_file", copy_among_steps)
            patch.setattr(module, "sync", lambda path: None)
            manifest = take([f.spec for f in fragments], {}, root / "s")
        judge(root / "s", manifest, fragments)
    finally:
        shutil.rmtree(root)


def test_what_is_removed_while_it_is_copied_is_looked_for_in_a_new_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fragments = [Running(tmp_path, "f0", None)]
    for _ in range(9):
        fragments[0].step()
    copy, removals = module._copy_file, 2

    def copy_what_is_there(source: Path, target: Path) -> None:
        nonlocal removals
        if removals:
            removals -= 1
            raise FileNotFoundError(2, "No such file", str(source))
        copy(source, target)

    monkeypatch.setattr(module, "_copy_file", copy_what_is_there)
    manifest = take([f.spec for f in fragments], {}, tmp_path / "s")
    judge(tmp_path / "s", manifest, fragments)
    removals = 9
    with pytest.raises(SnapshotError, match="3 times in a row; try again"):
        take([f.spec for f in fragments], {}, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_nothing_of_a_flow_that_another_kind_has_is_guessed(tmp_path: Path) -> None:
    kafka = Output("exchange", flow=Location("topic", "weir.a.f", {"bootstrapServers": "b:9092"}))
    spec = fragment(tmp_path, "f", [], [], kafka)
    with pytest.raises(SnapshotError, match=r"its flow is in weir\.a\.f"):
        take([spec], {}, tmp_path / "s")
    never = fragment(tmp_path, "g", [], [], files_output(tmp_path / "out", "k"))
    with pytest.raises(SnapshotError, match="has none yet"):
        take([never], {}, tmp_path / "s")
