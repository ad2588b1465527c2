"""The rows of one file of a source, in any format, and their ids."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weir_runtime.logs import columnar, csv_rows, json_rows, pieces
from weir_runtime.logs.bad_rows import BadRow, Parsed, Unreadable
from weir_runtime.logs.log import row_ids
from weir_runtime.logs.pieces import behind_last_line, behind_last_unquoted_line, pieces_of

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

    def pieces(
        self, open_file: Callable[[], pa.NativeFile], limit: int | None, whole: bool = True
    ) -> Iterator[Parsed]:
        """The rows of `parsed`; a large file's in pieces, where each can be read without the others. That is
        known when all have been read once: so they are read twice."""
        try:
            with open_file() as file:
                large = self._size(file) > pieces.SPAN
            if large:
                for _ in self._each(open_file, limit, whole):
                    pass
        except (Unreadable, pa.ArrowInvalid, OSError):
            large = False
        if large:
            yield from self._each(open_file, limit, whole)
        else:
            yield self.parsed(open_file, limit, whole)

    def _size(self, file: pa.NativeFile) -> int:
        columns = self.form in ("parquet", "arrow")
        return columnar.size_of_rows(file, self.form) if columns else int(file.size())

    def _each(
        self, open_file: Callable[[], pa.NativeFile], limit: int | None, whole: bool
    ) -> Iterator[Parsed]:
        """Raises what makes the file as a whole unreadable, or pieces of it by themselves."""
        first = 0
        with open_file() as file:
            if self.form in ("parquet", "arrow"):
                pieces = columnar.parse_pieces(file, self.form, self.schema, self.event_time, limit, whole)
            else:
                pieces = self._of_text(file, limit)
            for piece in pieces:
                yield piece.behind(first)
                first += piece.count()

    def _of_text(self, file: pa.NativeFile, limit: int | None) -> Iterator[Parsed]:
        header = b""
        cut = behind_last_unquoted_line if self.form == "csv" else behind_last_line
        for number, text in enumerate(pieces_of(file, cut)):
            content = text if number else text.removeprefix(BOM_UTF8)
            if not number:
                _check_encoding(content)
            if self.form == "json":
                yield json_rows.parse(_lines(content), self.schema, self.event_time, limit)
                continue
            parsed = csv_rows.parse(header + content, self.schema, self.event_time, limit)
            if parsed.bad and b'"' in content:
                raise Unreadable("a stray quote may have taken rows of other pieces into its value")
            header = header or csv_rows.header_of(content)
            yield parsed

    def _rows_in(self, file: pa.NativeFile, limit: int | None, whole: bool) -> Parsed:
        with file:
            if self.form in ("parquet", "arrow"):
                return columnar.parse(file, self.form, self.schema, self.event_time, limit, whole)
            content = file.read().removeprefix(BOM_UTF8)
        _check_encoding(content)
        if self.form == "csv":
            return csv_rows.parse(content, self.schema, self.event_time, limit)
        return json_rows.parse(_lines(content), self.schema, self.event_time, limit)


def _lines(content: bytes) -> list[bytes]:
    return [line for line in content.split(b"\n") if line.strip()]


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
