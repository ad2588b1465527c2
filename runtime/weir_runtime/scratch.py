"""The folder of a process for what nobody needs after its end: flags, Spark's own files, a dummy run."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from weir_placement.model.fragment import FragmentSpec

from weir_runtime.durable import drop_unfinished
from weir_runtime.lease import holder_is_gone, holder_name

PREFIX = "weir-process-"
BETWEEN = (AHEAD, RESULTS) = ("ahead", "results")
HOLDER = "holder"
"""A file of this name says whose folder it is."""


@cache
def scratch() -> Path:
    """This process's; `clear` removes it."""
    return make()


def between(spec: FragmentSpec, what: str) -> Path:
    """A folder for what driver and tasks pass to each other: this machine's, or with executors the shared
    one, for this epoch. Nobody needs it after the batch."""
    if spec.executors:
        return Path(spec.checkpoint) / what / f"e{spec.epoch}"
    return scratch() / what / f"{spec.name}-e{spec.epoch}"


def clear_earlier(spec: FragmentSpec) -> None:
    """Removes what epochs before have left between driver and tasks, and half written of late rows and dead
    letters in the side log. With the lease held."""
    if spec.sidelog:
        drop_unfinished(Path(spec.sidelog), "[0-9]*.*", below=True)
    for what in BETWEEN if spec.executors else ():
        for folder in between(spec, what).parent.glob("e*"):
            if folder.name[1:].isdigit() and int(folder.name[1:]) < spec.epoch:
                shutil.rmtree(folder, ignore_errors=True)


def clear_own(spec: FragmentSpec) -> None:
    """Removes what an epoch has left there whose process goes on with others."""
    for what in BETWEEN:
        shutil.rmtree(between(spec, what), ignore_errors=True)


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
            orphaned = holder_is_gone(file.read_text())
        except (OSError, ValueError):  # it comes, or goes, just now
            continue
        if orphaned:
            shutil.rmtree(file.parent, ignore_errors=True)
