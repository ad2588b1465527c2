"""The rows of one file of a source, in any format, and their ids."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weir_runtime.logs import columnar, csv_rows, json_rows
from weir_runtime.logs.bad_rows import BadRow, Parsed, Unreadable
from weir_runtime.logs.log import row_ids

FORMATS = ("parquet", "arrow", "json", "csv")

ROW_BITS = 24
"""A row id is the file's number and the row's position in it."""

GZIP = b"\x1f\x8b"
"""The first bytes of such a file."""

SPARE_BITS = 6
"""Of a file's number that stand for positions of more bits: 1,073,741,824 rows a file."""


@dataclass(frozen=True)
class FileRows:
    """How files are read.

    Attributes:
        form: one of `FORMATS`; json is a JSON object a line.
        schema: the columns, under the names in the files.
        event_time: one of them.
    """

    form: str
    schema: pa.Schema
    event_time: str

    def parsed(self, open_file: Callable[[], pa.NativeFile], limit: int | None, whole: bool = True) -> Parsed:
        """A file's rows.

        Args:
            open_file: raises what cannot be fetched, which is no bad row.
            limit: event times [us] beyond it are bad.
            whole: all columns; else its event times at least, and every bad row.
        """
        try:
            return self._rows_in(open_file(), limit, whole)
        except (Unreadable, pa.ArrowInvalid, OSError) as error:
            content = open_file().read()
            try:
                return self._rows_in(pa.BufferReader(content), limit, whole)
            except (Unreadable, pa.ArrowInvalid, OSError):
                unreadable = BadRow(None, f"not a file of format {self.form} with this schema: {error}", b"")
                return Parsed(self.schema.empty_table(), np.empty(0, np.uint64), (unreadable,))

    def _rows_in(self, file: pa.NativeFile, limit: int | None, whole: bool) -> Parsed:
        with file:
            if self.form in ("parquet", "arrow"):
                return columnar.parse(file, self.form, self.schema, self.event_time, limit, whole)
            content = file.read().removeprefix(BOM_UTF8)
        _check_encoding(content)
        if self.form == "csv":
            return csv_rows.parse(content, self.schema, self.event_time, limit)
        lines = [line for line in content.split(b"\n") if line.strip()]
        return json_rows.parse(lines, self.schema, self.event_time, limit)


def _check_encoding(content: bytes) -> None:
    """Raises Unreadable for what is not in UTF-8: neither CSV nor JSON begins like that."""
    if content.startswith(GZIP):
        raise Unreadable("it is gzip: unpack it first, with `gunzip`")
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in content[:2]:
        raise Unreadable("it is UTF-16: convert it, as with `iconv -f utf-16 -t utf-8`")


def file_row_ids(number: int, positions: NDArray[np.uint64]) -> pa.BinaryArray:
    """Of rows in the file of a number; numbers have ten digits (34 bits), and leave six bits of a file's 40
    free. Raises ValueError for a file of more rows than that."""
    high = positions >> np.uint64(ROW_BITS)
    if len(high) and int(high.max()) >= 1 << (SPARE_BITS):
        raise ValueError(f"file {number}: more than {1 << (ROW_BITS + SPARE_BITS)} rows; write several files")
    upper = (high << np.uint64(64 - ROW_BITS - SPARE_BITS)) | np.uint64(number)
    return row_ids(upper, positions & np.uint64((1 << ROW_BITS) - 1), ROW_BITS)
