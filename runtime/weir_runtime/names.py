"""Names in folders of batches, and files that appear whole or not at all (docs/runtime.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FOREVER

from weir_runtime.durable import put_in_place

END = "END"
"""A file of this name in a log or an exchange: no further batch will come."""

PRODUCER = "producer.json"
"""A file of this name in an exchange: where its producer answers."""

NUMBERING = "numbering.json"
"""A file of this name in a checkpoint or an exchange: which numbering its batches are of."""

TIMES = ".times"
"""A folder of this name beside the side logs of a namespace's fragments, whose names begin with no dot: how
far event time was in sources."""

SIZE = "size"
"""[bytes] The length of an object, as the store has it, among the object's attributes."""

PLAUSIBLE = FOREVER - 3650 * 86_400_000_000
"""[us] Event times stay below; a watermark above it means that every input has ended."""


def batch_name(number: int, suffix: str) -> str:
    """Ten digits, so that names sort as numbers do."""
    return f"{number:010d}.{suffix}"


def write_whole(path: Path, text: str) -> None:
    """Replaces `path` by one with this text, as `put_in_place` does."""
    put_in_place(path, lambda temporary: temporary.write_text(text))


def read_json(path: Path) -> Any | None:
    """The value in a file made by `write_whole`; None when there is no such file."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
