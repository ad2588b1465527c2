"""Real processes: killed at every point, moved, fenced; nothing is lost or doubled."""

from __future__ import annotations

import signal
import urllib.request
from dataclasses import replace
from pathlib import Path

from weir_runtime.faults import POINTS, VARIABLE
from weir_runtime.lease import FileLease

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, Replayer, rows
from tests.runtime.support import (
    append_batch,
    files_output,
    fragment,
    launch,
    sink_rows,
    source,
    state,
    wait_for,
)

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
        assert process.wait(120) == -signal.SIGKILL, f"not killed {point}: {state(spec)}"
    append_batch(log, number + 1, rows(number + 1))
    (log / "END").touch()
    for point in AT_THE_END:
        assert launch(spec, **{VARIABLE: point}).wait(120) == -signal.SIGKILL, point
    assert launch(spec).wait(120) == 0
    assert state(spec)["phase"] == "finished"
    found = verdict(tmp_path, [item], [COUNT], COLUMNS)
    assert found.good, f"{found} {found.examples}"


def test_move_with_a_standby_and_fencing(tmp_path: Path) -> None:
    """Six steps: the standby is warm, the old one drains and releases, the new one goes on at once.
    A process of an old epoch that starts again publishes nothing."""
    log = tmp_path / "a"
    item = source("a", log)
    old = fragment(tmp_path, "g", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    new = replace(old, epoch=2, standby=True, state=str(tmp_path / "states" / "g-e2.json"))
    replayer = Replayer(log)
    replayer.start()
    first = launch(old)
    wait_for(lambda: len(sink_rows(tmp_path / "out")) > 0, "the old process publishes", 180)
    second = launch(new)
    wait_for(lambda: state(new)["phase"] == "standby-ready", "the standby is ready", 180)
    ready = urllib.request.urlopen(f"http://127.0.0.1:{state(new)['port']}/readyz")
    assert ready.status == 200
    assert state(old)["phase"] == "running"
    FileLease(old.lease).hand_over(2)
    assert first.wait(60) == 0
    assert state(old)["phase"] == "released"
    before = len(sink_rows(tmp_path / "out"))
    wait_for(lambda: len(sink_rows(tmp_path / "out")) > before, "the new process publishes", 180)
    metrics = urllib.request.urlopen(f"http://127.0.0.1:{state(new)['port']}/metrics").read().decode()
    assert 'weir_epoch{fragment="g",query="default/q"} 2.0' in metrics
    assert launch(old).wait(120) == 75, "an old epoch is fenced"
    replayer.finish.set()
    assert second.wait(180) == 0
    found = verdict(tmp_path, [item], [COUNT], COLUMNS)
    assert found.good, f"{found} {found.examples}"
