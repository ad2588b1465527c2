"""`weir ... | head`: who reads has had enough, which is no error of Weir's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

COMMANDS = [
    ["plan", "-f", "examples/flights"],
    ["plan", "-f", "examples/flights", "-o", "json"],
    ["help", "sql"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_who_goes_is_no_error(command: list[str]) -> None:
    code = "import sys; from weir_operator.cli import main; sys.exit(main())"
    writer = subprocess.Popen(
        [sys.executable, "-c", code, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout
    writer.stdout.close()
    _, errors = writer.communicate(timeout=120)
    assert (writer.returncode, errors) == (0, b"")
