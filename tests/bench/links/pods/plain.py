"""The queries as one ordinary Spark application: Spark's own Kafka source and sink, Spark's optimiser.

    python3 plain.py FOLDER

FOLDER is shared with whoever controls it. It holds plain.json (a `Job`) and gets read.json: how many rows of
each stream every query has taken, after each batch. With `executors` the work is done in pods that Spark
makes and Kubernetes places; without, in the driver. Session and state store are as in a fragment of Weir's,
but filters are pushed down by Spark itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETTINGS = {
    "spark.sql.optimizer.excludedRules": "",
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
}
HEAP_MB = 1024


@dataclass(frozen=True)
class BaselineJob:
    """`streams`: DDL and watermark of each, in topics PREFIXname; `queries`: SQL over them, results go to
    PREFIXname; `trigger` [ms]."""

    prefix: str
    servers: str
    streams: dict[str, tuple[str, str]]
    queries: dict[str, str]
    trigger: int
    cores: int
    executors: int


def executor_settings(job: BaselineJob, folder: Path, environment: dict[str, str]) -> dict[str, str]:
    """Of an application on Kubernetes whose driver is this pod: nothing says where its executors go."""
    address, pod = environment["POD_IP"], environment["POD_NAME"]
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
    return {
        "spark.master": f"k8s://https://{host}:{port}",
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.driver.port": "7078",
        "spark.blockManager.port": "7079",
        "spark.kubernetes.namespace": environment["POD_NAMESPACE"],
        "spark.kubernetes.driver.pod.name": pod,
        "spark.kubernetes.executor.podNamePrefix": pod,
        "spark.kubernetes.executor.podTemplateFile": str(folder / "executor.json"),
        "spark.kubernetes.executor.podTemplateContainerName": "executor",
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.container.image": environment["IMAGE"],
        "spark.kubernetes.executor.request.cores": "100m",
        "spark.executor.cores": str(job.cores),
        "spark.executor.memory": f"{HEAP_MB}m",
        "spark.executor.memoryOverhead": "512m",
        "spark.executor.instances": str(job.executors),
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:-UsePerfData -Xss4m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "180s",
    }


def source(spark: Any, job: BaselineJob, name: str) -> Any:
    """A stream's rows as Spark reads them."""
    from pyspark.sql import functions as f

    ddl, watermark = job.streams[name]
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", job.servers)
    topic = reader.option("subscribe", job.prefix + name).option("startingOffsets", "earliest").load()
    rows = topic.select(f.from_json(f.col("value").cast("string"), ddl).alias("row")).select("row.*")
    return rows.withWatermark("ts", watermark)


def taken(report: Any, prefix: str) -> dict[str, int]:
    """Rows of each stream that a query has taken, by the offsets behind its last batch."""
    offsets_of = {}
    for item in report["sources"]:
        offsets = item["endOffset"]
        offsets = json.loads(offsets) if isinstance(offsets, str) else offsets
        for topic, partitions in (offsets or {}).items():
            offsets_of[topic.removeprefix(prefix)] = sum(int(n) for n in partitions.values())
    return offsets_of


def write(path: Path, content: object) -> None:
    """It appears whole."""
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(json.dumps(content))
    os.rename(temporary, path)


def main(folder: Path) -> None:
    """Until SIGTERM."""
    from weir_runtime.session import start_session

    job = BaselineJob(**json.loads((folder / "plain.json").read_text()))
    settings = dict(SETTINGS)
    if job.executors:
        settings |= executor_settings(job, folder, dict(os.environ))
    spark = start_session(job.cores, HEAP_MB, "plain", job.cores * max(1, job.executors), settings)
    for name in job.streams:
        source(spark, job, name).createOrReplaceTempView(name)
    running = {}
    for name, sql in job.queries.items():
        result = spark.sql(sql).selectExpr("to_json(struct(*)) AS value")
        writer = result.writeStream.format("kafka").option("kafka.bootstrap.servers", job.servers)
        writer = writer.option("topic", job.prefix + name)
        writer = writer.option("checkpointLocation", str(folder / "checkpoints" / f"{job.prefix}{name}"))
        running[name] = writer.trigger(processingTime=f"{job.trigger} milliseconds").start()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while all(query.isActive for query in running.values()):
        read = {}
        for name, query in running.items():
            report = query.lastProgress
            read[name] = taken(report, job.prefix) if report else {}
        write(folder / "read.json", {"at": time.time(), "read": read})
        time.sleep(0.5)
    for name, query in running.items():
        print(f"{name}: {query.exception()}", file=sys.stderr)
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
