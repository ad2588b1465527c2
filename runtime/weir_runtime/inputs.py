"""A fragment's inputs: from the spec to logs, and from logs to streams of a Spark plan."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType
from weir_placement.model.fragment import FragmentSpec, Input

from weir_runtime.compiler import TIME, FrameFlow, exchange_flow, source_flow
from weir_runtime.cpu import executor_folder
from weir_runtime.exchanges import reader_of
from weir_runtime.exchanges.ports import ExchangeReader
from weir_runtime.logs.log import Log
from weir_runtime.scratch import AHEAD, between
from weir_runtime.source import CLOCK, FORMAT, Control, frame_schema
from weir_runtime.sources import source_log
from weir_runtime.times import Clocking


@dataclass(frozen=True)
class OpenInput:
    """An input whose schema is known."""

    spec: Input
    log: Log
    columns: tuple[str, ...]
    clocking: Clocking


def open_input(item: Input, spec: FragmentSpec) -> OpenInput | None:
    """None when an exchange has not described itself yet. Raises FragmentError for a wrong source."""
    if item.kind == "exchange":
        exchange = reader_of(item)
        description = exchange.description()
        return None if description is None else _open_exchange(item, exchange, description, spec.name)
    names = tuple(column.name for column in item.columns)
    clocking = Clocking(aliases=(item.name,), times={f"{item.name}.{item.event_time}": 0})
    sidelog = str(Path(spec.sidelog) / item.name) if spec.sidelog else ""
    reached = replace(item, source=item.access or item.source)
    return OpenInput(item, source_log(reached, sidelog, between(spec, AHEAD) / item.name), names, clocking)


def open_missing(
    spec: FragmentSpec, opened: dict[str, OpenInput], ask: Callable[[Callable[[], Any]], Any]
) -> bool:
    """Opens those of a fragment's inputs that are not `opened` yet, each by `ask`. Whether all are."""
    for item in spec.inputs:
        if item.name not in opened:
            item_open: OpenInput | None = ask(partial(open_input, item, spec))
            if item_open is not None:
                opened[item.name] = item_open
    return len(opened) == len(spec.inputs)


def _open_exchange(
    item: Input, exchange: ExchangeReader, description: Mapping[str, Any], consumer: str
) -> OpenInput:
    schema = to_arrow_schema(StructType.fromJson(description["schema"]), timezone="UTC")
    log = exchange.log(schema, consumer, item.start)
    return OpenInput(item, log, tuple(description["columns"]), Clocking.from_json(description["clocking"]))


def stream_frame(
    spark: SparkSession, item: OpenInput, spec: FragmentSpec, control: Control, shift_ms: int
) -> DataFrame:
    """The input's rows as a stream; its markers are gone, they have moved the watermark."""
    frame = (
        spark.readStream.format(FORMAT)
        .schema(from_arrow_schema(frame_schema(item.log.schema)))
        .option("log", pickle.dumps(item.log).hex())
        .option("input", item.spec.name)
        .option("time", item.spec.event_time if item.spec.kind == "source" else TIME)
        .option("inputs", str(len(spec.inputs)))
        .option("control", str(control.folder))
        .option("most", str(spec.max_batches))
        .option("cpu", str(executor_folder(spec) or ""))
        .load()
    )
    return frame.withWatermark(CLOCK, f"{shift_ms} milliseconds").where(f"{CLOCK} IS NULL")


def input_flow(item: OpenInput, frame: DataFrame) -> FrameFlow:
    """The frame of an input as a stream of the plan."""
    if item.spec.kind == "source":
        return source_flow(frame, item.spec.name, item.columns, item.spec.event_time)
    return exchange_flow(frame, item.columns, item.clocking)
