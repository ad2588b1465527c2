"""Points at which a test lets the process die as by SIGKILL: nothing is flushed, nothing cleaned up."""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "WEIR_KILL_AT"
"""`point` or `point:n`: die when the point is reached for the n-th time (from 1) in this process."""

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
    """Dies here if the environment says so."""
    fatal, _, count = os.environ.get(VARIABLE, "").partition(":")
    if fatal != point:
        return
    _reached[point] += 1
    if _reached[point] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
