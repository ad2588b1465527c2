"""A fragment is killed and restarted in place, then moves: nothing is lost, doubled or left behind."""

from __future__ import annotations

import signal
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from weir_runtime.faults import VARIABLE
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


def test_killed_restarted_moved_and_fenced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six steps: the standby is warm, the old one drains and releases, the new one goes on at once.
    A process of an old epoch that starts again publishes nothing. What each kept for itself is gone."""
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    log = tmp_path / "a"
    item = source("a", log)
    old = fragment(tmp_path, "g", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    new = replace(old, epoch=2, standby=True, state=str(tmp_path / "states" / "g-e2.json"))
    replayer = Replayer(log)
    replayer.start()
    killed = launch(old, **{VARIABLE: "after-publish:2"})
    assert killed.wait(300) == -signal.SIGKILL
    first = launch(old)
    wait_for(lambda: len(sink_rows(tmp_path / "out")) > 0, "the old process publishes", 300)
    second = launch(new)
    wait_for(lambda: state(new)["phase"] == "standby-ready", "the standby is ready", 300)
    ready = urllib.request.urlopen(f"http://127.0.0.1:{state(new)['port']}/readyz")
    assert ready.status == 200
    assert state(old)["phase"] == "running"
    FileLease(old.lease).hand_over(2)
    assert first.wait(120) == 0
    assert state(old)["phase"] == "released"
    before = len(sink_rows(tmp_path / "out"))
    wait_for(lambda: len(sink_rows(tmp_path / "out")) > before, "the new process publishes", 300)
    metrics = urllib.request.urlopen(f"http://127.0.0.1:{state(new)['port']}/metrics").read().decode()
    assert 'weir_epoch{fragment="g",query="default/q"} 2.0' in metrics
    assert launch(old).wait(300) == 75, "an old epoch is fenced"
    replayer.finish.set()
    assert second.wait(300) == 0
    result = verdict(tmp_path, [item], [COUNT], COLUMNS)
    assert result.good, f"{result} {result.examples}"
    assert list(scratch.iterdir()) == []
