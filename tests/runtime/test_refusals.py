"""A process that cannot run as it is told says so in its state file: starting it again helps nobody."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from weir_operator.controller.observed_state import Process
from weir_operator.local.processes import Processes
from weir_placement.model.fragment import FragmentError
from weir_runtime.lease import FileLease
from weir_runtime.process import FragmentProcess

from tests.runtime.support import files_output, fragment, source


def observed(folder: Path, state: str) -> Process:
    """The process of a run folder whose process has ended and left this state file."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    entry = {
        "fragment": "f",
        "epoch": 1,
        "node": "n",
        "state": state,
        "holder": f"{socket.gethostname()}:{ended.pid}:1",
        "started": 0.0,
    }
    (folder / "processes").mkdir()
    (folder / "processes" / "f-e1.json").write_text(json.dumps({**entry, "build": "", "restarts": 0}))
    (process,) = Processes(folder).observe()
    return process


@pytest.mark.parametrize(
    ("error", "refused", "message"),
    [
        (FragmentError("out: has batches"), True, "out: has batches"),
        (OSError("disk full"), False, "OSError: disk full"),
    ],
)
def test_a_refusal_is_told_apart_from_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, refused: bool, message: str
) -> None:
    def execute(_: FragmentProcess, spark: object) -> int:
        raise error

    monkeypatch.setattr(FragmentProcess, "execute", execute)
    monkeypatch.setattr("weir_runtime.process.signal.signal", lambda *_: None)  # this process's are its own
    inputs = [source("s", tmp_path / "in")]
    spec = fragment(tmp_path, "f", inputs, [], files_output(tmp_path / "out", "s.k"))
    with pytest.raises(type(error)):
        FragmentProcess(spec, FileLease(spec.lease)).run()
    process = observed(tmp_path, spec.state)
    assert (process.state, process.refused, process.message) == ("failed", refused, message)
