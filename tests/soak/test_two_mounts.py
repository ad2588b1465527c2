"""A query whose process dies and begins again on another machine, whose view of the volume is a minute old:
two mounts of one folder that keep names, attributes and listings as NFS does (FUSE, hence as root)."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.faults import VARIABLE
from weir_runtime.logs import folder
from weir_runtime.sources import source_log

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import ROOT, append_batch, files_output, fragment, launch, source, state

KEPT = 60
"""[s] As NFS keeps attributes of folders at most (acdirmax)."""


@contextmanager
def mounted(folder: Path, paths: list[Path], seconds: int) -> Iterator[None]:
    """The folder at each of the paths, which keep what they have seen for so long."""
    servers: dict[Path, subprocess.Popen[bytes]] = {}
    try:
        for path in paths:
            path.mkdir()
            arguments = [str(folder), str(path), str(seconds)]
            servers[path] = subprocess.Popen(
                [sys.executable, "-m", "tests.soak.cached_mount", *arguments],
                cwd=ROOT,
                stdout=subprocess.PIPE,
            )
            output = servers[path].stdout
            assert output
            assert output.readline() == b"mounted\n", "mounting through FUSE needs root and /dev/fuse"
        yield
    finally:
        for path, server in servers.items():
            ctypes.CDLL(None).umount2(str(path).encode(), 2)
            server.communicate(timeout=10)


@pytest.fixture
def mounts(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Two of one folder."""
    (tmp_path / "volume").mkdir()
    one, two = tmp_path / "one", tmp_path / "two"
    with mounted(tmp_path / "volume", [one, two], KEPT):
        yield one, two


def test_an_end_that_a_mount_shows_before_the_last_file_ends_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "STALE", 6.0)
    volume, seen = tmp_path / "volume", tmp_path / "seen"
    append_batch(volume, 0, [(1, 0, 0)])
    with mounted(volume, [seen], 3):
        log = source_log(source("a", seen), "")
        assert [path.name for path in seen.iterdir()] == ["0000000000.parquet"]
        assert not (seen / "END").exists()
        time.sleep(1.0)  # by which END is asked for anew before the file is
        place, ended, waited = log.advance(log.start(), 0, 64).place, False, ""
        append_batch(volume, 1, [(1, 1, 1_000_000)])
        (volume / "END").touch()
        begin = time.monotonic()
        while not ended and time.monotonic() - begin < 60:
            ahead = log.advance(place, 0, 64)
            place, ended, waited = ahead.place, ahead.ended, waited or ahead.waits
            time.sleep(0.05)
        assert ended
        assert place["next"] == 2
        assert "files before it may not be seen" in waited


def test_a_machine_with_an_old_view_of_the_checkpoint_plans_no_batch_again(
    mounts: tuple[Path, Path], tmp_path: Path
) -> None:
    """The log and the lease are seen by both at once, as a store and the API server are."""
    one, two = mounts
    here = tmp_path / "here"
    here.symlink_to(one)
    item = source("a", tmp_path / "a")
    spec = fragment(here, "g", [item], [COUNT], files_output(here / "out", *COLUMNS), max_batches=1,
                    lease=str(tmp_path / "lease.json"), state=str(tmp_path / "state.json"))  # fmt: skip
    for number in range(3):
        append_batch(tmp_path / "a", number, rows(number))
    assert launch(spec, **{VARIABLE: "before-commit:2"}).wait(300) == -signal.SIGKILL
    name = Path("checkpoints/g") / state(spec)["hash"]
    before = Checkpoint(two / name).planned()
    assert before == 1
    assert launch(spec, **{VARIABLE: "after-publish:2"}).wait(300) == -signal.SIGKILL

    here.unlink()
    here.symlink_to(two)
    assert Checkpoint(one / name).planned() > before
    assert Checkpoint(two / name).planned() == before, "its view is old"
    for number in range(3, 6):
        append_batch(tmp_path / "a", number, rows(number))
    (tmp_path / "a" / "END").touch()
    assert launch(spec).wait(300) == 0
    result = verdict(here, [item], [COUNT], COLUMNS)
    print(f"{result} of {result.rows} rows")
    assert result.good, result.examples


def test_a_name_that_was_made_elsewhere_is_known_by_making_it(mounts: tuple[Path, Path]) -> None:
    one, two = (Checkpoint(mount / "c") for mount in mounts)
    assert one.shows_all(0)
    assert two.planned() == -1
    (one.folder / "offsets" / "0").write_text("v1\n{}\n{}")
    assert two.planned() == -1, "its view is old"
    assert not two.shows_all(float("inf"))
    assert os.listdir(one.folder / "offsets") == ["0"]
