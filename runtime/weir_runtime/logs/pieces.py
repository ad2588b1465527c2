"""A large file in pieces that are read one after the other, so that memory holds one of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

SPAN = 32 * 2**20
"""[bytes] of a piece, about; a file of at most so many is one."""

Cut = Callable[[bytes], int]
"""How many bytes of a text are whole rows; 0 when none is sure to be."""


def pieces_of(file: pa.NativeFile, cut: Cut) -> Iterator[bytes]:
    """Of a text, each of whole rows; what `cut` finds no end in goes on into the next one."""
    rest = b""
    while part := file.read(SPAN):
        rest += part
        if end := cut(rest):
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def behind_last_line(text: bytes) -> int:
    """A row ends with its line."""
    return text.rfind(b"\n") + 1


def behind_last_unquoted_line(text: bytes) -> int:
    """A row ends with a line before which each quote that is opened is closed."""
    end = text.rfind(b"\n") + 1
    quotes = text.count(b'"', 0, end)
    while end and quotes % 2:
        before = text.rfind(b"\n", 0, end - 1) + 1
        quotes -= text.count(b'"', before, end)
        end = before
    return end
