"""An older copy of a checkpoint, as from a backup, is refused: its next numbers are taken, by other rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.publish import OlderCheckpoint
from weir_runtime.sinks import FolderSink

from tests.runtime.flows import batch, free
from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS
from tests.runtime.sessions import Run
from tests.runtime.support import files_output, fragment, sink_rows
from tests.runtime.test_two_lives import checkpoint_of, count, grow


def test_a_sink_in_a_folder(tmp_path: Path) -> None:
    """Another plan's files are its own."""
    spec = fragment(tmp_path, "f", [], [], files_output(tmp_path / "out"))

    def sink(prefix: str = "0123456789ab") -> FolderSink:
        return FolderSink(str(tmp_path / "out"), spec, prefix, [("v", "n")])

    for prefix, numbers in (("f123456789ab", [9]), ("0123456789ab", [0, 3])):  # without rows: no file
        first = sink(prefix)
        first.claim("one", True)
        for number in numbers:
            first.write(batch(number), number, 0, free)
    sink().take_over("one", 3)
    for planned in (-1, 1):
        with pytest.raises(OlderCheckpoint, match=r"out/0123456789ab-0000000003\.parquet is there"):
            sink().take_over("one", planned)


@pytest.mark.parametrize("deleted", [False, True])
def test_a_flow_in_a_folder(tmp_path: Path, deleted: bool) -> None:
    """Also where its readers have read all, and it is deleted."""
    first = FolderWriter(str(tmp_path), 1, ("r",))
    first.take_over("one", -1)
    for number in range(4):
        first.write(batch(number + 1), number, 5, free)
    if deleted:
        (tmp_path / "consumers").mkdir()
        (tmp_path / "consumers/r.json").write_text('{"next": 4}')
        assert first.delete_consumed() == 4
    FolderWriter(str(tmp_path), 1).take_over("one", 3)
    with pytest.raises(OlderCheckpoint, match=r"batch 3 is there, but .* up to 1 only"):
        FolderWriter(str(tmp_path), 1).take_over("one", 1)


def test_a_fragment_with_a_checkpoint_from_a_backup_ends_in_words(run: Run, tmp_path: Path) -> None:
    """The newest one that is brought back goes on."""
    grow(tmp_path / "a", range(3), end=True)
    spec = count(tmp_path)
    run(spec)
    written, checkpoint = sink_rows(tmp_path / "out"), checkpoint_of(spec)
    shutil.copytree(checkpoint, tmp_path / "newest")
    for log in ("offsets", "commits"):
        for path in (checkpoint / log).iterdir():
            if path.name.strip(".").split(".")[0] != "0":
                path.unlink()
    with pytest.raises(OlderCheckpoint, match="up to 0 only"):
        run(spec)
    assert sink_rows(tmp_path / "out") == written, "nothing was written"
    shutil.rmtree(checkpoint)
    shutil.copytree(tmp_path / "newest", checkpoint)
    run(spec)
    assert verdict(tmp_path, spec.inputs, spec.operators, COLUMNS).good
