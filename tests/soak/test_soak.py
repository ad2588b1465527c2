"""Twenty moves and twenty kills at random moments while rows flow."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from weir_placement.model.fragment import FragmentSpec
from weir_runtime.lease import FileLease

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, Replayer
from tests.runtime.support import (
    files_output,
    fragment,
    launch,
    sink_rows,
    source,
    state,
    wait_for,
)

MOVES = 20
KILLS = 20


def test_twenty_moves(tmp_path: Path) -> None:
    """With warm standbys; prints each gap and the pause: the gap less the normal interval."""
    first, replayer = begin(tmp_path)
    spec, process = first, launch(first)
    wait_for(lambda: bool(sink_rows(tmp_path / "out")), "the first process publishes", 300)
    gaps, pauses = [], []
    for epoch in range(2, MOVES + 2):
        successor = replace(
            spec, epoch=epoch, standby=True, state=str(tmp_path / "states" / f"g-e{epoch}.json")
        )
        following = launch(successor)
        wait_for(lambda: state(successor)["phase"] == "standby-ready", "the standby is ready", 300)  # noqa: B023
        FileLease(spec.lease).hand_over(epoch)
        assert process.wait(300) == 0
        published = newest(tmp_path)
        wait_for(lambda: newest(tmp_path) > published, "the new process publishes", 300)  # noqa: B023
        times = sorted(path.stat().st_mtime for path in published_files(tmp_path))
        steps = [b - a for a, b in pairwise(times)]
        gap = times[times.index(published) + 1] - published
        gaps.append(gap)
        pauses.append(gap - median(steps))
        print(f"move {epoch - 1}: gap {gap:.2f} s, pause {pauses[-1]:.2f} s", flush=True)
        spec, process = successor, following
    print(f"gap median {median(gaps):.2f} s; pause median {median(pauses):.2f} s, max {max(pauses):.2f} s")
    finish(tmp_path, first, replayer, process)


def test_twenty_kills_at_random_points(tmp_path: Path) -> None:
    """SIGKILL at a random moment after the start; the same epoch starts again at once."""
    chance = random.Random(20)
    spec, replayer = begin(tmp_path)
    for _ in range(KILLS):
        process = launch(spec)
        wait_for(lambda: state(spec)["phase"] == "running" or process.poll() is not None, "it runs", 300)  # noqa: B023
        time.sleep(chance.uniform(0.0, 4.0))  # the moment itself is what is random
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    finish(tmp_path, spec, replayer, launch(spec))


def begin(root: Path) -> tuple[FragmentSpec, Replayer]:
    """A count over a log that grows."""
    replayer = Replayer(root / "a")
    replayer.start()
    item = source("a", root / "a")
    return fragment(root, "g", [item], [COUNT], files_output(root / "out", *COLUMNS)), replayer


def finish(root: Path, spec: FragmentSpec, replayer: Replayer, process: subprocess.Popen[bytes]) -> None:
    """Ends the log and audits."""
    replayer.finish.set()
    assert process.wait(300) == 0
    result = verdict(root, spec.inputs, spec.operators, COLUMNS)
    print(f"{result} of {result.rows} rows")
    assert result.good, result.examples


def published_files(root: Path) -> list[Path]:
    return list((root / "out").glob("[!.]*.parquet"))


def newest(root: Path) -> float:
    return max(path.stat().st_mtime for path in published_files(root))
