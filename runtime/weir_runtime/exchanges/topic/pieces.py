"""A batch's rows as one compressed Arrow stream that is cut into messages, and read as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.ipc

from weir_runtime.chunks import table_in_chunks
from weir_runtime.exchanges.topic.topic import PIECE

PART = 4 * PIECE
"""[bytes] of rows that are compressed at once; of an old batch, as many as its writer had."""


def write_pieces(table: pa.Table, send: Callable[[bytes], None]) -> None:
    """Gives `send` piece after piece, each but the last of PIECE bytes; none without rows, and none after one
    that it has refused."""
    if table.num_rows == 0:
        return
    table = table.replace_schema_metadata(None)
    cutter = PieceCutter(send)
    file = pa.PythonFile(cutter, "w")
    writer = pa.ipc.new_stream(file, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
    for batch in table_in_chunks(table, PART):
        writer.write_batch(batch)
    writer.close()  # not after an error: it writes
    cutter.finish()


class PieceCutter:
    """A file that hands on what is written to it in pieces of one size."""

    closed = False

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._uncut = bytearray()

    def write(self, data: bytes) -> int:
        """All of it; pieces that are whole are sent before it returns."""
        size = len(data)
        self._uncut += data
        whole = len(self._uncut) // PIECE * PIECE
        for at in range(0, whole, PIECE):
            self._send(bytes(self._uncut[at : at + PIECE]))
        del self._uncut[:whole]
        return size

    def finish(self) -> None:
        """Sends what is left."""
        if self._uncut:
            self._send(bytes(self._uncut))
            self._uncut.clear()


class PieceReader:
    """A file of what pieces have, which are taken when they are needed."""

    closed = False

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")  # of the piece that was taken last

    def read(self, size: int) -> bytes:
        """As many bytes, fewer at the end alone."""
        parts, missing = [], size
        while missing:
            if not self._left:
                self._left = memoryview(next(self._pieces, b""))
                if not self._left:
                    break
            part = self._left[:missing]
            self._left = self._left[len(part) :]
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
