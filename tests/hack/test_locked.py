"""An image installs what its program needs out of the lock, with the hashes, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "hack" / "images" / "locked.py"
LOCK = """\
alpha==1.0 \\
    --hash=sha256:aa
    # via
    #   weir (pyproject.toml)
    #   gamma
beta==2.0 ; python_version < '3.12' \\
    --hash=sha256:bb
    # via alpha
delta-x==4.0 \\
    --hash=sha256:dd
    # via beta
gamma==3.0 \\
    --hash=sha256:cc
    # via weir (pyproject.toml)
"""


def locked(*names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *names]
    return subprocess.run(command, input=LOCK, capture_output=True, text=True, check=False)


def test_what_a_package_needs_comes_along_with_its_hashes() -> None:
    output = locked("alpha").stdout
    assert [line.split("==")[0] for line in output.splitlines() if "==" in line] == [
        "alpha",
        "beta",
        "delta-x",
    ]
    assert output.count("--hash=") == 3


def test_a_package_that_is_not_locked_is_an_error() -> None:
    process = locked("alpha", "omega")
    assert process.returncode != 0
    assert "omega" in process.stderr
