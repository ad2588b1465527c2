"""The dummy run that makes a standby warm: the same plan over made-up rows, published nowhere."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from weir_placement.model.fragment import FragmentSpec

from weir_runtime.checkpoint import Checkpoint
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.inputs import OpenInput
from weir_runtime.logs.warm_log import WarmLog
from weir_runtime.names import PLAUSIBLE
from weir_runtime.plan import build_plan
from weir_runtime.results import Results
from weir_runtime.scratch import scratch
from weir_runtime.source import Control


def warm_up(spark: SparkSession, spec: FragmentSpec, inputs: list[OpenInput]) -> None:
    """Runs until the made-up streams have ended: classes loaded, plans compiled, workers forked."""
    place = Path(spec.checkpoint) if spec.executors else scratch()  # state is kept where the tasks run
    place.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="weir-standby-", dir=place))
    control = Control(folder)
    control.set("go")
    plan = build_plan(
        spark,
        spec,
        [dataclasses.replace(item, log=WarmLog(item.log.schema)) for item in inputs],
        control,
    )
    checkpoint = Checkpoint(folder / "checkpoint")
    writer = FolderWriter(str(folder / "exchange"), spec.epoch)
    results = Results(folder / "results")
    final: list[int] = []

    def publish(frame: DataFrame, batch: int) -> None:
        table = results.collect(frame)
        clock = plan.clock(checkpoint.watermark_ms(batch))
        writer.write(table, batch, clock, lambda: None)
        if clock >= PLAUSIBLE:
            final.append(batch)

    query = (
        plan.frame.writeStream.outputMode("append")
        .option("checkpointLocation", str(checkpoint.folder))
        .trigger(processingTime="0 seconds")
        .foreachBatch(publish)
        .start()
    )
    try:
        while not final:
            if query.awaitTermination(timeout=1):
                break
    finally:
        query.stop()
        shutil.rmtree(folder, ignore_errors=True)
