"""What a transaction a batch costs a topic as a sink: batches of several sizes, without Spark.

python -m tests.bench.kafka.sinks [--out FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow as pa
from weir_placement.bench import page
from weir_placement.bench.stamp import stamp
from weir_placement.model.fragment import FragmentSpec, Output
from weir_runtime.compiler import ID
from weir_runtime.kafka_sinks import kafka_sink

from tests.kafka.broker import start_broker
from tests.kafka.topics import Topic
from tests.runtime.flows import free
from tests.runtime.support import fragment

BATCHES = {1: 200, 100: 200, 5_000: 20}
"""By the rows of a batch: how many are written."""

HEADER = (
    "rows a batch",
    "transactional",
    "claim [s]",
    "batch, median [ms]",
    "messages/s",
    "CPU-us a message",
)
TEXT = """
Written by `python -m tests.bench.kafka.sinks`. Rows of two columns, about 30 bytes as JSON, into three
partitions of one broker, on the machine of the sink, which has two cores shared with other work. CPU is the
sink's. Claim: what a process needs before its first batch, with a transactional sink also a transactional id
and how far the one before was.

The plain sink writes with kafka-python, the transactional one with librdkafka, which needs less CPU: for
batches of thousands of rows it is the faster one, transactions and all. What a transaction itself costs
shows in batches of one row: it is the same whatever is in the batch. Readers of committed messages see the
rows of a batch when it ends, not as they are sent.
"""


def rows(count: int) -> pa.Table:
    """Of one batch."""
    ids = pa.array([b"%020d" % i for i in range(count)], pa.binary())
    numbers = pa.array(range(count), pa.int64())
    return pa.table({"v": numbers, "x": numbers.cast(pa.float64()), ID: ids})


def measure(spec: FragmentSpec, count: int, batches: int) -> tuple[float, float, int, float]:
    """Seconds of the claim, milliseconds of a batch, messages a second, CPU-us of a message."""
    begin = time.perf_counter()
    sink = kafka_sink(spec, "p", [("v", "v"), ("x", "x")])
    sink.claim("n", fresh=True)
    claim = time.perf_counter() - begin
    sink.write(table := rows(count), 0, 0, free)
    took, cpu = [], time.process_time()
    for number in range(1, batches + 1):
        begin = time.perf_counter()
        sink.write(table, number, 0, free)
        took.append(time.perf_counter() - begin)
    cpu = time.process_time() - cpu
    messages = count * batches
    return claim, median(took) * 1e3, round(messages / sum(took)), cpu / messages * 1e6


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = start_broker(Path(folder) / "broker")
        try:
            table = []
            for count, batches in BATCHES.items():
                for transactional in (False, True):
                    topic = Topic(broker, f"t{count}-{transactional}", partitions=3)
                    options = {**topic.options, "transactional": transactional}
                    spec = fragment(Path(folder), "g", [], [], Output("kafka", options=options))
                    table.append([count, "yes" if transactional else "no", *measure(spec, count, batches)])
        finally:
            broker.stop()
    page.write(arguments.out, "kafka-sink", "What a transactional Kafka sink costs", TEXT, HEADER, table)
    stamp(arguments.out, "kafka-sink", "python -m tests.bench.kafka.sinks", "tests.bench.kafka.sinks")


if __name__ == "__main__":
    main()
