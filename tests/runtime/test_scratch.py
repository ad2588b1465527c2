"""A process's own folder goes with it (`test_move`), and with the next process if it was killed."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from weir_runtime.lease import holder_name
from weir_runtime.scratch import HOLDER, PREFIX, make, sweep


def folder_of(holder: str, root: Path) -> Path:
    """As the process would have made it."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    (folder / HOLDER).write_text(holder)
    (folder / "control").mkdir()
    return folder


def test_only_what_killed_processes_of_this_host_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own = make()
    with subprocess.Popen(["sleep", "600"]) as other:
        killed = folder_of(holder_name(other.pid), tmp_path)
        stay = {own, folder_of("another-host:1:1", tmp_path), Path(tempfile.mkdtemp(prefix=PREFIX))}
        sweep()
        assert set(tmp_path.iterdir()) == stay | {killed}
        other.kill()
    sweep()
    assert set(tmp_path.iterdir()) == stay
    assert make().parent == tmp_path
