"""Source streams (model.md section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """A column with its Spark type and the bytes it takes in a tuple (an estimate)."""

    name: str
    type: str  # Spark DDL, as BIGINT
    bytes: float


@dataclass(frozen=True)
class Stream:
    """A stream as it enters the cluster.

    `name` is `namespace/name`; `rate` [tuples/s] is the nominal one that a profile may replace;
    `origins` are node names: the stream enters at one of them (any, when there are several).
    """

    name: str
    rate: float
    columns: tuple[Column, ...]
    origins: tuple[str, ...]
    tuple_bytes: float
    event_time: str = ""
    delay: float = 0.0  # watermark delay [s]
    idle: float = 0.0  # the clock waits so long for a partition in which nothing comes [s]; 0: for ever
    max_ahead: float | None = None  # [s] of event times before the wall clock; None: the runtime's default
    distinct: Mapping[str, float] = field(default_factory=dict, hash=False)  # distinct values by column
