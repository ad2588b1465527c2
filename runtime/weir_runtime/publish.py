"""Publishing a batch exactly once: into a temporary file, then under its number by an operation that
fails when the name exists."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from weir_runtime.compiler import TIME
from weir_runtime.faults import reach

Fence = Callable[[], None]
"""Raises Fenced unless this process may publish."""


class Fenced(RuntimeError):
    """The lease belongs to another epoch or holder: nothing may be published."""


def put_once(temporary: Path, final: Path, fence: Fence) -> bool:
    """Publishes `temporary` as `final`; False when that name was there (a replay): the file is dropped."""
    reach("before-publish")
    try:
        fence()
        os.link(temporary, final)
        return True
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
        reach("after-publish")


def described(table: pa.Table, epoch: int, clock: int) -> dict[str, str]:
    """What a published batch says of itself: `epoch`, `rows`, `clock`, and with rows `min`, `max` [us]."""
    facts = {"epoch": epoch, "rows": table.num_rows, "clock": clock}
    if table.num_rows:
        bounds = pc.min_max(table.column(TIME).cast(pa.int64()))
        facts |= {"min": bounds["min"].as_py(), "max": bounds["max"].as_py()}
    return {key: str(value) for key, value in facts.items()}


def newest(description: Mapping[str, str]) -> int:
    """[us] The latest event time that a batch speaks of, by what it says of itself."""
    return max(int(description["clock"]), int(description.get("max", 0)))


def user_rows(table: pa.Table, columns: list[tuple[str, str]]) -> pa.Table:
    """What the user sees of a batch: no hidden columns."""
    return pa.table([table.column(old) for old, _ in columns], names=[new for _, new in columns])
