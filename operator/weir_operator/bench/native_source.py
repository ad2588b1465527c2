"""Spark's own file source over the rows of `saturation.write_log`, to compare ours with.

    python -m weir_operator.bench.native_source FORMAT FOLDER SCRATCH FILES

prints a JSON line (time, rows, CPU seconds, rows out) after each batch, until all files are read.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from pyspark.sql import DataFrame
from weir_runtime.cpu import CpuMeter
from weir_runtime.session import start_session

from weir_operator.bench.saturation import ROWS_A_FILE

SCHEMA = "k BIGINT, g BIGINT, v DOUBLE, ts TIMESTAMP"


def main(form: str, folder: str, scratch: str, files: int) -> None:
    """As a fragment with one filter, four files a batch."""
    spark = start_session()
    meter, finished, rows = CpuMeter(os.getpid()), threading.Event(), [0]
    source = spark.readStream.format(form).schema(SCHEMA)
    frame = source.option("maxFilesPerTrigger", 4).option("pathGlobFilter", f"*.{form}").load(folder)

    def count(batch: DataFrame, number: int) -> None:
        rows[0] += batch.toArrow().num_rows
        print(json.dumps([time.time(), rows[0], meter.seconds(), rows[0]]), flush=True)
        if rows[0] >= files * ROWS_A_FILE:
            finished.set()

    writer = frame.where("v >= -1").writeStream.option("checkpointLocation", scratch).foreachBatch(count)
    query = writer.trigger(processingTime="0 seconds").start()
    finished.wait()
    query.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
