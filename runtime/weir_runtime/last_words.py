"""What a process that fails leaves behind for whoever asks why."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

TERMINATION_LOG = Path("/dev/termination-log")
"""Kubernetes shows in the pod's status what a container has written there; elsewhere there is none. Without
it, it would show the end of the log, which is what Spark prints after the error."""

LONGEST = 3000
"""Characters; Kubernetes keeps 4,096 bytes."""


def cause_of(failure: object) -> str:
    """What Spark says of a query that failed, without what it appends: codes, the query's offsets and plan.

    >>> cause_of("with exception: no topic a SQLSTATE: XXKST\\n=== Streaming Query ===\\nIdentifier: ...")
    'with exception: no topic a'
    """
    text = str(failure).partition("=== Streaming Query ===")[0]
    return re.sub(r"(\s*SQLSTATE: \w+)+\s*$", "", text).strip()


def leave(error: BaseException, place: Path = TERMINATION_LOG) -> None:
    """Writes the error, or its end if it is long, where there is such a place."""
    if place.exists():
        with suppress(OSError):
            place.write_text(f"{type(error).__name__}: {error}"[-LONGEST:])
