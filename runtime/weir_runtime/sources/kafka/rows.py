"""Messages of a topic as rows: parsed, and kept for `read` where `advance` has parsed them already."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weir_runtime.arrow_types import event_times
from weir_runtime.logs import json_rows
from weir_runtime.logs.ahead import Ahead
from weir_runtime.logs.bad_rows import Parsed
from weir_runtime.sources.kafka.intake import Messages

OFFSET = "_offset"
"""Column of rows that are kept."""


class TopicRows:
    """Of one topic; positions are offsets.

    Args:
        schema: the stream's columns.
        event_time: one of them, of type timestamp.
        folder: for the rows that are kept; None: none are.
    """

    def __init__(self, schema: pa.Schema, event_time: str, folder: Path | None) -> None:
        self._schema = schema
        self._event_time = event_time
        self._ahead = Ahead(folder)

    def parse(self, messages: Messages, limit: int | None) -> Parsed:
        """Of one partition; event times after `limit` [us] are bad."""
        parsed = json_rows.parse(messages.values, self._schema, self._event_time, limit)
        offsets = np.array(messages.offsets, np.uint64)
        bad = (replace(row, position=messages.offsets[row.position or 0]) for row in parsed.bad)
        return Parsed(parsed.rows, offsets[parsed.positions], tuple(bad))

    def times(self, parsed: Parsed) -> NDArray[np.int64]:
        """Event times [us]."""
        return event_times(parsed.rows, self._event_time)

    def begin(self) -> None:
        """Drops what is kept of earlier batches."""
        self._ahead.begin()

    def keep(self, key: str, first: int, beyond: int, parsed: Parsed) -> None:
        """Keeps the rows of a partition's range; none with bad rows, whose reader needs the messages."""
        if not parsed.bad:
            rows = parsed.rows.append_column(OFFSET, pa.array(parsed.positions))
            self._ahead.put(_range_name(key, first, beyond), rows)

    def kept(self, key: str, first: int, beyond: int) -> Parsed | None:
        """The rows of exactly this range, where they were kept."""
        table = self._ahead.get(_range_name(key, first, beyond))
        if table is None:
            return None
        return Parsed(table.drop_columns([OFFSET]), table.column(OFFSET).to_numpy())


def _range_name(key: str, first: int, beyond: int) -> str:
    return f"{int(key):05d}-{first:015d}-{beyond:015d}.arrow"
