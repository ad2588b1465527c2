"""What a process that fails leaves behind for whoever asks why."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import dropwhile, takewhile
from pathlib import Path

from weir_placement.model.fragment import FragmentError

from weir_runtime.logs.dead_letters import BadRowError
from weir_runtime.logs.losses import DataLoss

TERMINATION_LOG = Path("/dev/termination-log")
"""Kubernetes shows in the pod's status what a container has written there; elsewhere there is none. Without
it, it would show the end of the log, which is what Spark prints after the error."""

LONGEST = 3000
"""Characters; Kubernetes keeps 4,096 bytes."""

REFUSALS = tuple(f"{kind.__module__}.{kind.__qualname__}: " for kind in (BadRowError, DataLoss))
"""How a traceback, which is all that comes through Spark, names errors for which a stream wants its queries
to end: a person must change something."""


def error_of(failure: object, instead: Exception | None) -> Exception:
    """With which a process ends whose query has failed: FragmentError for a bad row, or rows that are gone,
    of a stream whose policy is Fail, else the one that is known `instead` of what Spark says, or
    RuntimeError."""
    cause = cause_of(failure)
    for kind in REFUSALS:
        if cause.startswith(kind):
            return FragmentError(cause.removeprefix(kind))
    return instead or RuntimeError(f"the query ended: {cause}")


def cause_of(failure: object) -> str:
    """What Spark says of a query that failed, without what it appends: codes, offsets, the query's plan. Of
    an error of a source or sink, which is Python's, it is that error alone, without the way to it.

    >>> cause_of("with exception: no topic a SQLSTATE: XXKST\\n=== Streaming Query ===\\nIdentifier: ...")
    'with exception: no topic a'
    """
    text = str(failure).partition("=== Streaming Query ===")[0]
    text = re.sub(r"(\s*SQLSTATE: \w+)+\s*$", "", text)
    _, traceback, below = text.rpartition("Traceback (most recent call last):\n")
    return (_raised(below) if traceback else text).strip()


def _raised(below: str) -> str:
    """The error at the end of a traceback, where Java's own may follow."""
    lines = dropwhile(lambda line: line.startswith(" "), below.splitlines())
    return "\n".join(takewhile(str.strip, lines)).removeprefix("ValueError: ")


def leave(error: BaseException, place: Path = TERMINATION_LOG) -> None:
    """Writes the error, or its end if it is long, where there is such a place."""
    if place.exists():
        with suppress(OSError):
            place.write_text(f"{type(error).__name__}: {error}"[-LONGEST:])
