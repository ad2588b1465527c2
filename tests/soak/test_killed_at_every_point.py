"""A process killed at every point of its life; nothing is lost or doubled."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import FragmentSpec, TypedColumn
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.faults import AT_THE_END, IN_A_LIFE, VARIABLE
from weir_runtime.logs.log import BATCH_BYTES

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import (
    COLUMNS as SOURCE_COLUMNS,
)
from tests.runtime.support import (
    ORIGIN,
    append_batch,
    files_output,
    fragment,
    launch,
    sink_rows,
    source,
    state,
)


def test_killed_at_every_point(tmp_path: Path) -> None:
    """One process after the other, each killed at the next point; the last one ends in peace."""
    log = tmp_path / "a"
    item = source("a", log)
    spec = fragment(tmp_path, "g", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    for number, point in enumerate(IN_A_LIFE):
        append_batch(log, number, rows(number))
        # the second batch publishes the windows that the first one has closed
        process = launch(spec, **{VARIABLE: point})
        assert process.wait(300) == -signal.SIGKILL, f"not killed {point}: {state(spec)}"
    append_batch(log, number + 1, rows(number + 1))
    (log / "END").touch()
    for point in AT_THE_END:
        assert launch(spec, **{VARIABLE: point}).wait(300) == -signal.SIGKILL, point
    assert launch(spec).wait(300) == 0
    assert state(spec)["phase"] == "finished"
    result = verdict(tmp_path, [item], [COUNT], COLUMNS)
    assert result.good, f"{result} {result.examples}"


def append_wide(folder: Path, number: int, size: int) -> None:
    """The rows of `rows`, with a wide column that makes the file so many bytes long."""
    folder.mkdir(exist_ok=True)
    k, v, at = zip(*rows(number), strict=True)
    wide = [np.random.default_rng(number).bytes(size // 2 // len(k)).hex()] * len(k)
    wide = [f"{text[i:]}{text[:i]}" for i, text in enumerate(wide)]
    times = pa.array([ORIGIN + t for t in at], pa.timestamp("us", tz="UTC"))
    table = pa.table({"k": k, "v": v, "ts": times, "wide": wide})
    pq.write_table(table, folder / f".{number}", compression="none", use_dictionary=False)
    (folder / f".{number}").rename(folder / f"{number:010d}.parquet")


def test_killed_between_what_a_batch_takes_and_the_batch(tmp_path: Path) -> None:
    """How many files fit is decided from what is there; a life that comes later finds more, and must take the
    same. Files 0 and 1 fit into a batch, 2 does not; then 2 alone; then 3, before 4 comes."""
    log = tmp_path / "a"
    item = replace(source("a", log), columns=(*SOURCE_COLUMNS, TypedColumn("wide", "STRING")))
    spec = fragment(tmp_path, "g", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    for number, size in enumerate([1, BATCH_BYTES // 3, BATCH_BYTES]):
        append_wide(log, number, size)
    assert launch(spec, **{VARIABLE: "before-plan"}).wait(300) == -signal.SIGKILL
    assert launch(spec, **{VARIABLE: "before-plan:2"}).wait(300) == -signal.SIGKILL
    append_wide(log, 3, 1)
    assert launch(spec, **{VARIABLE: "before-plan:2"}).wait(300) == -signal.SIGKILL
    append_wide(log, 4, 1)
    (log / "END").touch()
    assert launch(spec).wait(300) == 0
    checkpoint = Checkpoint(Path(spec.checkpoint) / state(spec)["hash"])
    taken = [checkpoint.offsets(batch)["a"]["at"]["next"] for batch in range(4)]
    assert taken == [2, 3, 4, 5]
    audit = verdict(tmp_path, [item], [COUNT], COLUMNS)
    assert audit.good, f"{audit} {audit.examples}"


def offsets_of(spec: FragmentSpec, batch: int) -> dict[str, Any]:
    """Where a planned batch of its only input ends."""
    place: dict[str, Any] = Checkpoint(Path(spec.checkpoint) / state(spec)["hash"]).offsets(batch)["a"]["at"]
    return place


def test_killed_between_what_is_too_far_ahead_and_the_batch(tmp_path: Path) -> None:
    """The next life would allow the row, by a later clock or, as here, by another `maxAhead`."""
    hour, now = 3600 * 10**6, time.time_ns() // 1000 - ORIGIN
    item = replace(source("a", tmp_path / "a"), max_ahead=hour)
    spec = fragment(tmp_path, "g", [item], [], files_output(tmp_path / "out", "a.v"))
    append_batch(tmp_path / "a", 0, [(0, 1, now), (0, 2, now + 24 * hour)])
    (tmp_path / "a" / "END").touch()
    assert launch(spec, **{VARIABLE: "before-plan"}).wait(300) == -signal.SIGKILL
    decided = offsets_of(spec, 0)
    assert decided["bad"] == 1
    assert launch(replace(spec, inputs=(replace(item, max_ahead=48 * hour),))).wait(300) == 0
    assert offsets_of(spec, 0) == decided
    assert sink_rows(tmp_path / "out") == [(1,)]
    [letters] = (tmp_path / "late").rglob("bad/*.parquet")
    assert pq.read_table(letters).num_rows == 1


def test_killed_between_what_is_lost_and_the_batch(tmp_path: Path) -> None:
    """Files that were given up come back, and stay given up: they are counted as lost."""
    log = tmp_path / "a"
    item = source("a", log)
    item = replace(item, source={"files": {**item.source["files"], "onDataLoss": "Continue"}})
    spec = fragment(tmp_path, "g", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    for number in (0, 3):
        append_batch(log, number, rows(number))
    (log / "END").touch()
    assert launch(spec, **{VARIABLE: "before-plan:2"}).wait(300) == -signal.SIGKILL
    decided = offsets_of(spec, 1)
    assert (decided["next"], decided["lost_files"]) == (3, 2)
    for number in (1, 2):
        append_batch(log, number, rows(number))
    assert launch(spec).wait(300) == 0
    assert offsets_of(spec, 1) == decided
    starts = sorted(start for start, *_ in sink_rows(tmp_path / "out"))
    kept = {ORIGIN + t // 10**6 * 10**6 for number in (0, 3) for _, _, t in rows(number)}
    assert {int(start.timestamp() * 1e6) for start in starts} == kept
