"""The query of `whitewater_query` as one plain Spark job: Spark's source, optimiser and joins.

    python -m weir_operator.bench.plain_job INBOX SCRATCH CORES HEAP_MB

prints a JSON line [time, CPU seconds, rows read of each stream] after each batch; the first when it is ready.
Session, state store and checkpoints are as in a fragment; filters are pushed down, since Spark does so.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path

from weir_runtime.cpu import CpuMeter
from weir_runtime.session import CONF, start_session

from weir_operator.bench.whitewater_query import REACH, STREAMS

AT_ONCE = 16
"""Files of a stream in one batch at most, as a fragment's `max_batches`."""
TRIGGER = "2 seconds"
SETTINGS = {
    "spark.sql.optimizer.excludedRules": "",
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
}
WINDOW = f"INTERVAL {REACH // 1_000_000} SECONDS"
SQL = f"""
SELECT ab.a, ab.b, j.c, j.d, j.ts
FROM (SELECT bc.b, bc.c, cd.d, bc.ts FROM bc
      JOIN cd ON bc.c = cd.c AND bc.ts BETWEEN cd.ts - {WINDOW} AND cd.ts + {WINDOW}) AS j
JOIN ab ON ab.b = j.b AND j.ts BETWEEN ab.ts - {WINDOW} AND ab.ts + {WINDOW}
WHERE ab.a = 0 AND j.d = 0
"""
"""The joins in the order of the paper's query: Spark keeps it. The first join passes on only one event time,
because Spark takes no stream with two."""


def main(inbox: str, scratch: str, cores: int, heap_mb: int) -> None:
    """Runs until SIGTERM."""
    os.environ[CONF] = json.dumps(SETTINGS)
    spark = start_session(cores, heap_mb, "plain")
    meter = CpuMeter(os.getpid())
    for name, (left, right) in STREAMS.items():
        source = spark.readStream.schema(f"{left} BIGINT, {right} BIGINT, ts TIMESTAMP").format("parquet")
        source = source.option("maxFilesPerTrigger", AT_ONCE).option("pathGlobFilter", "[!.]*.parquet")
        source.load(str(Path(inbox) / name)).withWatermark("ts", "0 seconds").createOrReplaceTempView(name)
    writer = spark.sql(SQL).writeStream.format("noop").option("checkpointLocation", scratch)
    query = writer.trigger(processingTime=TRIGGER).start()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print_progress(meter, {})
    rows: dict[str, float] = defaultdict(float)
    last_batch = -1
    while query.isActive:
        for report in query.recentProgress:
            if report["batchId"] > last_batch and report["numInputRows"]:
                last_batch = report["batchId"]
                for source_report in report["sources"]:
                    for name in STREAMS:
                        if f"/{name}]" in source_report["description"]:
                            rows[name] += source_report["numInputRows"]
                print_progress(meter, rows)
        time.sleep(0.1)
    raise RuntimeError(f"the query ended: {query.exception()}")


def print_progress(meter: CpuMeter, rows: dict[str, float]) -> None:
    """Prints one JSON line."""
    print(json.dumps([time.time(), meter.seconds(), rows]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
