"""^C before a command is at work: while its modules load, which takes seconds on a busy machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOADING = """
import importlib.abc, signal, sys

class InterruptAt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, InterruptAt())
from weir_operator.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    "module", ["weir_operator.cli.app", "typer", "weir_operator.cli.run", "weir_operator.local.machine"]
)
def test_an_interrupt_while_modules_load_is_no_error(tmp_path: Path, module: str) -> None:
    command = [sys.executable, "-c", LOADING, module, "run", "-f", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")
