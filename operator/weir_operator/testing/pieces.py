"""The orders in which a test's rows arrive, and the pieces in which they do."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
from weir_placement.model.streams import Stream
from weir_runtime.arrow_types import event_times
from weir_runtime.logs.lateness import on_time

MOST_PIECES = 4
"""Files of a stream: each is a batch of its own."""


def on_time_rows(rows: pa.Table, stream: Stream) -> pa.Table:
    """Those that are not late in the order as written."""
    return rows.filter(pa.array(on_time(event_times(rows, stream.event_time), None, _delay(stream))))


def out_of_order(rows: pa.Table, stream: Stream, random: Random) -> pa.Table:
    """The rows in another order, in which none is late: each is held up by less than the watermark, so that
    no row comes after one that is newer by more."""
    times = event_times(rows, stream.event_time)
    arrivals = times + np.array([random.uniform(0, _delay(stream)) for _ in times])
    ties = np.array([random.random() for _ in times])
    return rows.take(pa.array(np.lexsort((ties, arrivals))))


def pieces(rows: pa.Table, random: Random) -> list[pa.Table]:
    """The rows, cut at random places: 1 to 4 tables, none of them empty unless all are."""
    most = min(MOST_PIECES, max(1, rows.num_rows))
    cuts = sorted(random.sample(range(1, rows.num_rows), random.randint(1, most) - 1)) if most > 1 else []
    ends = [0, *cuts, rows.num_rows]
    return [rows.slice(low, high - low) for low, high in pairwise(ends)]


def late_rows(rows: Mapping[str, pa.Table], streams: Mapping[str, Stream]) -> dict[str, int]:
    """How many rows of each stream are late, where some are."""
    counts = {n: table.num_rows - on_time_rows(table, streams[n]).num_rows for n, table in rows.items()}
    return {name: count for name, count in counts.items() if count}


def _delay(stream: Stream) -> int:
    return round(stream.delay * 1e6)
