"""A volume on which a machine sees late what another one has written: nothing is planned on an old view."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_placement.model.fragment import FragmentError
from weir_runtime import checkpoint
from weir_runtime.checkpoint import Checkpoint


class ServedView:
    """What a machine sees of a checkpoint: its listings may be of before; whether a name is there, the server
    says when the name is to be made."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.checkpoint = Checkpoint(folder)
        self.offsets = folder / "offsets"
        self.listed: int | None = None
        listing = checkpoint._newest
        monkeypatch.setattr(
            checkpoint, "_newest", lambda path: listing(path) if self.listed is None else self.listed
        )

    def plan(self, batch: int) -> None:
        self.offsets.mkdir(parents=True, exist_ok=True)
        (self.offsets / str(batch)).write_text("v1\n{}\n{}")


@pytest.fixture
def view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServedView:
    return ServedView(tmp_path / "c", monkeypatch)


@pytest.mark.parametrize("batches", [0, 1, 3])
def test_a_true_view_is_seen_to_be_and_nothing_is_left_of_the_look(view: ServedView, batches: int) -> None:
    for batch in range(batches):
        view.plan(batch)
    assert view.checkpoint.shows_all(0)
    assert {path.name for path in view.offsets.iterdir()} == set(map(str, range(batches)))


@pytest.mark.parametrize("seen", [-1, 1])
def test_an_old_view_is_waited_out_and_then_refused_in_words(view: ServedView, seen: int) -> None:
    for batch in range(3):
        view.plan(batch)
    view.listed = seen
    assert not view.checkpoint.shows_all(float("inf"))
    with pytest.raises(FragmentError, match=rf"batch {seen + 1} is planned, .* lookupcache=none, actimeo=1"):
        view.checkpoint.shows_all(0)
    view.listed = None
    assert view.checkpoint.shows_all(0)


def test_what_a_kill_in_the_look_leaves_is_no_batch(view: ServedView) -> None:
    view.plan(0)
    (view.offsets / "1").touch()
    assert view.checkpoint.shows_all(0)
    view.checkpoint.drop_unfinished()
    assert view.checkpoint.planned() == 0
