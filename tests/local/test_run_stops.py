"""`weir run` stops in order on SIGTERM, and on SIGINT also where a shell has started it with that ignored."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local.place import MANIFESTS

IGNORANT = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from weir_operator.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("finite", [False, True])
def test_a_signal_stops_a_run(tmp_path: Path, number: signal.Signals, finite: bool) -> None:
    """Of a query with a plan that waits for approval, so that no process is started."""
    text = MANIFESTS.format(least="10", cordoned="false").replace("exact-dp}", "exact-dp}, mode: Manual")
    (tmp_path / "all.yaml").write_text(text)
    options = ["--run-folder", str(tmp_path / "run"), *(["--until-finished"] if finite else [])]
    command = [sys.executable, "-c", IGNORANT, "run", "-f", str(tmp_path / "all.yaml"), *options]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert any("Proposed" in line for line in process.stdout)
            process.send_signal(number)
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert rest.endswith("\nstopping the fragments; their state is kept\n")
    assert process.returncode == (128 + number if finite else 0)
