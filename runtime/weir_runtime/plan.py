"""A fragment's whole plan: inputs, operators, output, and the hash that names its checkpoint."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.identity import digest, identity_fields
from weir_placement.model.operator_form import semantics
from weir_placement.model.operators import Operator
from weir_placement.model.waits import waits

from weir_runtime.checkpoint import restored_name
from weir_runtime.compiler import ID, TIME, Compiled, column, compile_operators, source_time
from weir_runtime.inputs import OpenInput, input_flow, stream_frame
from weir_runtime.source import Control
from weir_runtime.times import clock_of, clock_shift, look_ahead

SPARKS_IN_NAMES = ("4.2.0",)
"""Versions of Spark that are part of the names of checkpoints of format 0."""


@dataclass(frozen=True)
class SparkPlan:
    """A compiled streaming fragment."""

    frame: DataFrame
    columns: tuple[str, ...]
    description: dict[str, object]  # for `stream.json`
    back: int  # [us]
    ahead: int  # [us] by how much what a row depends on may be later than the row

    def clock(self, watermark_ms: int) -> int:
        """[us] No row of a later batch is at or before this, given a batch's watermark [ms]."""
        return clock_of(watermark_ms, self.back)


def build_plan(
    spark: SparkSession,
    spec: FragmentSpec,
    inputs: list[OpenInput],
    control: Control,
    shift_ms: int | None = None,
) -> SparkPlan:
    """Raises FragmentError for what does not fit together."""
    if not spec.operators and len(inputs) > 1:
        raise FragmentError(
            "fragment.operators: empty, but there are several inputs; one operator must combine them"
        )

    def frame_of(item: OpenInput, shift: int) -> DataFrame:
        return stream_frame(spark, item, spec, control, shift)

    compiled = _compile(spec.operators, inputs, lambda item: frame_of(item, shift_ms or 0))
    shift = -(-clock_shift(spec.operators, compiled.grouped) // 1000)
    if shift_ms is None and shift:
        return build_plan(spark, spec, inputs, control, shift)
    output = compiled.output
    hidden = (TIME, ID, *map(source_time, output.clocking.aliases))
    frame = output.frame.select(*map(column, (*output.columns, *hidden)))
    description = {
        "version": 1,
        "producer": spec.name,
        "columns": list(output.columns),
        "schema": json.loads(frame.schema.json()),
        "clocking": output.clocking.to_json(),
    }
    ahead = look_ahead(spec.operators, compiled.grouped)
    return SparkPlan(frame, output.columns, description, output.clocking.back, ahead)


def _compile(
    operators: tuple[Operator, ...], inputs: list[OpenInput], frames: Callable[[OpenInput], DataFrame]
) -> Compiled:
    flows = {item.spec.name: input_flow(item, frames(item)) for item in inputs}
    flows = {name: dataclasses.replace(flow, frame=_count(flow.frame, name)) for name, flow in flows.items()}
    return compile_operators(operators, flows, observe=_count)


def _count(frame: DataFrame, name: str) -> DataFrame:
    """Counts the rows of each batch, under the operator's name in the query's progress."""
    return frame.observe(name, f.count(f.lit(1)).alias("rows"))


def checkpoint_name(spec: FragmentSpec, inputs: list[OpenInput]) -> str:
    """The folder of the plan's checkpoint, with which its files in a sink begin too: `plan_hash`, or the name
    under which an earlier version, or the query of a snapshot, has begun it."""
    folder, present = Path(spec.checkpoint), plan_hash(spec, inputs)
    earlier = (plan_hash(spec, inputs, spark) for spark in SPARKS_IN_NAMES)
    existing = (name for name in earlier if (folder / name).is_dir())
    return restored_name(folder, present) or next(existing, None) or present


def plan_hash(spec: FragmentSpec, inputs: list[OpenInput], spark: str = "") -> str:
    """Twelve hexadecimal digits, another one for every plan whose state or batches could differ.

    Over operators with parameters, inputs with their schemas, places and delays (by name), the output and
    the number of executors. Not among it is how brokers are reached, nor how many cores there are: Spark
    goes on with the partitions that a checkpoint was begun with. With `spark`: the name of format 0, which
    began anew under another Spark.
    """
    operators = [semantics(operator) for operator in spec.operators]
    streams = [
        {
            "input": item.spec.identity(),
            "schema": [[field.name, str(field.type)] for field in item.log.schema],
            "clocking": item.clocking.to_json(),
        }
        for item in sorted(inputs, key=lambda item: item.spec.name)
    ]
    output = {
        "kind": spec.output.kind,
        "uri": spec.output.stored()["uri"],
        "columns": dataclasses.asdict(spec.output)["columns"],
        "after": spec.output.after,
    }
    parts = [
        operators,
        streams,
        identity_fields(output),
        max(1, spec.executors),
        *([spark, 1] if spark else [2]),
    ]
    if any(waiting := waits(spec.operators).values()):
        parts.append(list(waiting))
    return digest(parts, 12)
