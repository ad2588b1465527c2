"""Arrow files of batches, and how many of a dense sequence are there."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from weir_runtime.durable import put_in_place
from weir_runtime.names import batch_name


def waiting(folder: Path, suffix: str, first: int) -> int:
    """How many of the dense files from `first` on exist."""
    return dense(lambda i: (folder / batch_name(first + i, suffix)).exists())


def dense(there: Callable[[int], bool], most: float = inf) -> int:
    """How many of the things 0, 1, 2, ... are there, at most `most`, where none is missing between two:
    O(log n) looks, and the last that found something found the last of them."""
    step = 1
    while step <= most and there(step - 1):
        step *= 2
    low, high = step // 2, int(min(step - 1, most))  # `low` things surely exist, `high + 1` surely do not
    while low < high:
        middle = (low + high + 1) // 2
        if there(middle - 1):
            low = middle
        else:
            high = middle - 1
    return low


def size_of(path: Path) -> int | None:
    """[bytes] None when there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def write_batch(path: Path, table: pa.Table) -> None:
    """Puts an Arrow file in its place in one step."""
    put_in_place(path, lambda temporary: write_table(temporary, table))


def write_table(path: Path, table: pa.Table) -> None:
    """As an Arrow file."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
