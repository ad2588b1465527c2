"""How fast a Kafka source reads: a backlog of small rows in topics of 1, 8 and 64 partitions, without Spark.

python -m tests.bench.kafka.bench [--rows N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from weir_placement.bench import page
from weir_placement.bench.stamp import stamp
from weir_runtime.sources.kafka.intake import Range
from weir_runtime.sources.kafka.log import KafkaLog
from weir_runtime.sources.kafka.reader import KafkaReader

from tests.kafka.broker import Broker, start_broker

SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("v", pa.float64()),
        ("name", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
    ]
)
PARTITIONS = (1, 8, 64)
HEADER = (
    "partitions", "messages/s", "CPU-us a message", "rows/s", "CPU-us a row",
    "rows/s, fetched twice", "CPU-us a row, fetched twice",
)  # fmt: skip
TEXT = """
Written by `python -m tests.bench.kafka.bench`. A topic holds {rows} messages of about 75 bytes (JSON, four
columns), the same number in each partition; one broker, on the machine of the reader, which has two cores.
Messages: the client alone, from the first to the last offset. Rows: `advance` and `read` of the log, as a
process without executors calls them (each message is fetched once, and parsed), and as one with executors
does (fetched and parsed by the driver, for the times, and again by the executor). CPU is the reader's.

With kafka-python, one partition after the other, as it was before: 96,000, 138,000 and 79,000 messages/s;
59,000, 136,000 and 88,000 rows/s; 50,000, 72,000 and 40,000 when fetched twice (400,000 rows, one run, the
machine shared with other work).
"""


@dataclass(frozen=True)
class Speed:
    """What some messages took: seconds, and CPU seconds of this process."""

    count: int
    seconds: float
    cpu: float

    @property
    def row(self) -> tuple[int, float]:
        """A second, and CPU-us each."""
        return round(self.count / self.seconds), self.cpu / self.count * 1e6


def fill(broker: Broker, topic: str, partitions: int, rows: int) -> None:
    """A topic with a backlog."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 20})
    for k in range(rows):
        hours, minutes, seconds = k // 36_000 % 24, k // 600 % 60, k // 10 % 60
        at = f"2026-01-01T{hours:02d}:{minutes:02d}:{seconds:02d}Z"
        value = f'{{"k": {k}, "v": {k % 97}.5, "name": "carrier-{k % 13}", "ts": "{at}"}}'
        producer.produce(topic, value, partition=k % partitions)
        if k % 10_000 == 0:
            producer.flush(60)
    assert producer.flush(60) == 0


def timed(read: Callable[[], int]) -> Speed:
    """`read` returns how many it has read."""
    begin, cpu = time.perf_counter(), time.process_time()
    count = read()
    return Speed(count, time.perf_counter() - begin, time.process_time() - cpu)


def messages(options: dict[str, str]) -> Speed:
    """The client alone."""
    reader = KafkaReader(options)
    keys = reader.layout().partitions
    ranges = {key: Range(0, end, end) for key, end in reader.ends(keys).items()}
    return timed(lambda: sum(len(taken.values) for taken in reader.fetch(ranges).values()))


def rows(options: dict[str, str], count: int, ahead: Path | None) -> Speed:
    """The log: of a process that keeps what it fetched, or of two of which one has fetched it already."""
    log = KafkaLog(options, SCHEMA, "ts", 10**12, "", ahead)
    begin = log.advance(log.start(), 0, 64).place

    def read() -> int:
        place, taken = begin, 0
        while taken < count:
            end = log.advance(place, 0, 64).place
            taken += sum(batch.num_rows for batch in log.read(place, end))
            place = end
        return taken

    return timed(read)


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = start_broker(Path(folder) / "broker")
        try:
            table = []
            for partitions in PARTITIONS:
                options = {"bootstrapServers": broker.address, "topic": f"t{partitions}"}
                fill(broker, options["topic"], partitions, arguments.rows)
                near = rows(options, arguments.rows, Path(folder) / "ahead")
                far = rows(options, arguments.rows, None)
                table.append([partitions, *messages(options).row, *near.row, *far.row])
        finally:
            broker.stop()
    text = TEXT.format(rows=f"{arguments.rows:,}")
    page.write(arguments.out, "kafka-source", "How fast a Kafka source reads", text, HEADER, table)
    stamp(arguments.out, "kafka-source", "python -m tests.bench.kafka.bench", "tests.bench.kafka.bench")


if __name__ == "__main__":
    main()
