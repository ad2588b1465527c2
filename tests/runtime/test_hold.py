"""A process can be wished to stand still at a point, and goes on where it stood."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from weir_runtime.faults import HOLD

PROGRAM = """
import sys
from weir_runtime.faults import reach
sys.stdin.readline()
for point in ("one", "two"):
    reach(point)
    print(point, flush=True)
"""


def test_a_process_stands_at_the_point_that_is_wished_for(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, HOLD: str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        (tmp_path / str(process.pid)).write_text("two")
        process.stdin.write("\n")
        process.stdin.flush()
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert process.stdout.readline() == "one\n"
        assert not list(tmp_path.iterdir()), "the wish is taken away"
        process.send_signal(signal.SIGCONT)
        assert process.wait(10) == 0
        assert process.stdout.read() == "two\n"
