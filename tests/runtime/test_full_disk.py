"""What cannot be written whole leaves nothing behind: on a full disk it would take what others need. Nor does
what a killed process had begun to write stay for ever."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from weir_placement.model.fragment import FragmentSpec
from weir_runtime import durable
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.logs.batches import write_batch
from weir_runtime.logs.dead_letters import FolderLetters
from weir_runtime.names import write_whole
from weir_runtime.scratch import clear_earlier
from weir_runtime.sinks import FolderSink

from tests.runtime.flows import batch, free
from tests.runtime.support import files_output, fragment, source

PLAN = "0123456789ab"
ROOM = 20_000
"""[bytes] that a file may have."""


def spec(root: Path) -> FragmentSpec:
    return fragment(root, "f", [source("a", root / "a")], [], files_output(root / "out", "v"))


def flow(root: Path) -> FolderWriter:
    return FolderWriter(str(root / "flow"), 1, ("r",))


def sink(root: Path) -> FolderSink:
    return FolderSink(str(root / "out"), spec(root), PLAN, [("v", "n")])


WRITERS: dict[str, Callable[[Path, pa.Table], object]] = {
    "a batch of a flow": lambda root, rows: flow(root).write(rows, 0, 0, free),
    "a batch of a sink": lambda root, rows: sink(root).write(rows, 0, 0, free),
    "late rows": lambda root, rows: write_batch(root / "late/a/0000000000.arrow", rows),
    "dead letters": lambda root, rows: FolderLetters(str(root / "bad")).put("0000000000", rows),
    "a note": lambda root, rows: write_whole(root / "lease.json", "x" * rows.nbytes),
}


@contextmanager
def full_disk() -> Iterator[None]:
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize("what", WRITERS)
def test_what_does_not_fit_leaves_nothing(tmp_path: Path, what: str) -> None:
    rows = batch(*range(50_000))
    with full_disk(), pytest.raises(OSError, match="File too large"):
        WRITERS[what](tmp_path, rows)
    assert files(tmp_path) == []
    WRITERS[what](tmp_path, rows)
    assert len(files(tmp_path)) == 1, "with room again it is written"


def killed(*paths: Path) -> Sequence[object]:
    """Writers that were killed in the middle: what they leave stays as long as this list does."""
    writers = [durable.beside(path) for path in paths]
    for path, writer in zip(paths, writers, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        writer.__enter__().write_text("half")
    return writers


def test_whoever_gets_the_lease_removes_what_a_killed_process_has_begun(tmp_path: Path) -> None:
    """Also of versions before; not what other processes may be writing now, nor what is the user's."""
    others = ["flow/stream.json", "flow/consumers/r.json", "out/f123456789ab-0000000003.parquet"]
    alive = killed(*(tmp_path / name for name in [*others, "late/g/a/0000000003.arrow"]))
    for name in ("out/.notes", "out/.0000000004.parquet.crc"):
        (tmp_path / name).write_text("the user's")
    stays = files(tmp_path)
    own = ["flow/0000000003.arrow", f"out/{PLAN}-0000000003.parquet", "late/f/a/0000000003.arrow"]
    own += ["late/f/a/bad/0000000003.parquet", "late/f/a/00001-000000000000007.arrow"]
    dead = killed(*(tmp_path / name for name in own))
    for name in ("flow/.0000000004.arrow.1.77.78", f"out/.{PLAN}-0000000004.parquet.1.77.78"):
        (tmp_path / name).write_text("half")
    (tmp_path / "late/f/a/.0000000004.arrow.machine.77").write_text("half")
    assert len(files(tmp_path)) == len(stays) + len(dead) + 3
    for output in (flow(tmp_path), sink(tmp_path)):
        output.take_over("one", -1)
    clear_earlier(spec(tmp_path))
    assert files(tmp_path) == sorted([*stays, "flow/numbering.json"])
    assert len(alive) == 4


def test_a_writer_whose_file_is_taken_away_is_told(tmp_path: Path) -> None:
    """It was frozen, and its successor has begun: it has the lease no more either."""

    def taken_over() -> None:
        flow(tmp_path).take_over("one", -1)

    writer = flow(tmp_path)
    writer.take_over("one", -1)
    with pytest.raises(FileNotFoundError):
        writer.write(batch(1), 0, 0, taken_over)
    assert files(tmp_path) == ["flow/numbering.json"]
