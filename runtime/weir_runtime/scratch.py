"""The folder of a process for what nobody needs after its end: flags, Spark's own files, a dummy run."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from weir_runtime.lease import holder_is_gone, holder_name

PREFIX = "weir-process-"
HOLDER = "holder"
"""A file of this name says whose folder it is."""


@cache
def scratch() -> Path:
    """This process's; `clear` removes it."""
    return make()


def make() -> Path:
    """A new one; what processes left that were killed goes."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    (folder / HOLDER).write_text(holder_name())
    return folder


def clear() -> None:
    """At the end of the process, when its JVM is gone: it would write again."""
    if scratch.cache_info().currsize:
        shutil.rmtree(scratch(), ignore_errors=True)


def sweep() -> None:
    """Removes the folders of this machine's processes that were killed before they could."""
    for file in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{HOLDER}"):
        try:
            gone = holder_is_gone(file.read_text())
        except (OSError, ValueError):  # it comes, or goes, just now
            continue
        if gone:
            shutil.rmtree(file.parent, ignore_errors=True)
