"""Points at which a test lets the process die as by SIGKILL: nothing is flushed, nothing cleaned up; or stand
still, for a test that then does something else to it."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

VARIABLE = "WEIR_KILL_AT"
"""`point` or `point:n`: die when the point is reached for the n-th time (from 1) in this process."""

HOLD = "WEIR_HOLD_AT"
"""A folder: a process that reaches the point which the file `<pid>` there names removes that file, and stops
as by SIGSTOP. Unlike `VARIABLE` it can be wished of a process that runs."""

IN_A_LIFE = (
    "before-acquire",
    "after-acquire",
    "before-plan",
    "after-plan",
    "before-temporary",
    "after-temporary",
    "before-publish",
    "after-publish",
    "before-commit",
    "after-commit",
)
AT_THE_END = ("before-end", "after-end")
"""Of a finite input."""
AT_A_HAND_OVER = ("before-release", "after-release")
"""Of the process that leaves; the one that comes passes the first of a life."""
IN_A_CHANGE = ("before-agree", "after-agree", "after-pass")
"""Of the operators of a running query."""

POINTS = (*IN_A_LIFE, *AT_THE_END, *AT_A_HAND_OVER, *IN_A_CHANGE)

_reached: Counter[str] = Counter()


def reach(point: str) -> None:
    """Dies or stops here if the environment says so."""
    if folder := os.environ.get(HOLD):
        _hold(Path(folder, str(os.getpid())), point)
    fatal, _, count = os.environ.get(VARIABLE, "").partition(":")
    if fatal != point:
        return
    _reached[point] += 1
    if _reached[point] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)


def _hold(wish: Path, point: str) -> None:
    try:
        if wish.read_text() != point:
            return
    except FileNotFoundError:
        return
    wish.unlink()
    os.kill(os.getpid(), signal.SIGSTOP)
