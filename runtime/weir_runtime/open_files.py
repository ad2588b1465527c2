"""How many files a process has open, of those that it may have; sockets and the like are files too."""

from __future__ import annotations

import os
import re
from pathlib import Path


def share_open(pid: int) -> float:
    """From 0 to 1, of the soft limit, which Java raises to the hard one. Raises OSError: there is none."""
    limits = Path(f"/proc/{pid}/limits").read_text()
    soft = re.search(r"^Max open files +(\d+)", limits, re.M)
    return len(os.listdir(f"/proc/{pid}/fd")) / int(soft[1]) if soft else 0.0  # else: unlimited
