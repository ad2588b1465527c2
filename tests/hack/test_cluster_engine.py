"""The engine that `make cluster` starts outlives its caller, and keeps nothing of it."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

DOCKER = Path(__file__).parents[2] / "hack/cluster/docker.sh"
DAEMON = f"""
set -euo pipefail
source <(sed -n '/^without_files_of_the_caller/,/^}}/p' {DOCKER})
without_files_of_the_caller sleep 60 >/dev/null 2>&1 </dev/null &
until [[ $(</proc/$!/comm) == sleep ]]; do :; done
echo $!
"""


def test_a_lock_of_the_caller_is_free_when_the_caller_has_ended(tmp_path: Path) -> None:
    lock = (tmp_path / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    started = subprocess.run(
        ["bash", "-c", DAEMON], pass_fds=[lock.fileno()], capture_output=True, text=True, check=True
    )
    lock.close()
    try:
        with (tmp_path / "lock").open("w") as again:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        subprocess.run(["kill", started.stdout.strip()], check=True)
