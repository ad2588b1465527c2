"""A source in Kafka: JSON messages, read again by partition and offset."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from weir_placement.model.fragment import Input

from weir_runtime.logs.dead_letters import bad_rows_of
from weir_runtime.logs.log import Log
from weir_runtime.sources.kafka.log import KafkaLog


def open_log(
    item: Input, options: Mapping[str, Any], schema: pa.Schema, sidelog: str, ahead: Path | None
) -> Log:
    """Of `source.kafka`. Raises FragmentError."""
    bad_rows = bad_rows_of(item, sidelog)
    return KafkaLog(
        dict(options), schema, item.event_time, item.delay, sidelog, ahead, item.idle, bad_rows, item.after
    )
