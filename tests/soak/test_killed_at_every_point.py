"""A process killed at every point of its life; nothing is lost or doubled."""

from __future__ import annotations

import signal
from pathlib import Path

from weir_runtime.faults import POINTS, VARIABLE

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import append_batch, files_output, fragment, launch, source, state

AT_THE_END = ("before-end", "after-end")
IN_A_MOVE = ("before-release",)


def test_killed_at_every_point(tmp_path: Path) -> None:
    """One process after the other, each killed at the next point; the last one ends in peace."""
    log = tmp_path / "a"
    item = source("a", log)
    spec = fragment(tmp_path, "g", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    for number, point in enumerate(p for p in POINTS if p not in AT_THE_END + IN_A_MOVE):
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
