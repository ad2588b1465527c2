"""Writes the flights into Kafka topics, in the order and at the pace of their event times.

    python -m examples.flights.replay_to_kafka --servers kafka:9092 --hours 60 --speed 1

At the end each topic gets one row of month 13, an hour later: it joins with nothing, and moves the
watermark past every window of the rows before it.
"""

from __future__ import annotations

import argparse
import heapq
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pandas as pd
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError

from examples.flights.rows import streams

HOUR = 3_600_000_000
LAST = {"month": 13, "carrier": "-", "flight": 0, "tailnum": "-", "origin": "-", "dest": "-"}


def message(row: dict[str, object]) -> bytes:
    """A row as JSON, its time as text with microseconds."""
    ts = datetime.fromtimestamp(int(str(row["ts"])) / 1e6, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return json.dumps(row | {"ts": ts}, default=lambda number: number.item()).encode()


def last_row(rows: pd.DataFrame) -> dict[str, object]:
    """The row that closes a stream: known columns from LAST, numbers 0."""
    return {name: LAST.get(name, 0) for name in rows.columns} | {"ts": int(rows["ts"].iloc[-1]) + HOUR}


def make_topics(admin: KafkaAdminClient, names: list[str]) -> None:
    """One partition each: the order of the log is the order of the rows."""
    for name in names:
        try:
            admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])
        except TopicAlreadyExistsError:
            print(f"topic {name} is there already", flush=True)


def _records(name: str, frame: pd.DataFrame) -> Iterator[tuple[int, str, dict[str, object]]]:
    for values in frame.itertuples(index=False):
        row = values._asdict()
        yield int(row["ts"]), name, row


def due(ahead: float, speed: float, surge_after: float, surge: float) -> float:
    """When a row is sent [s since the start] whose event time is `ahead` [s] of the first one's: at `speed`
    seconds of event time in a second, and `surge` times as fast once `surge_after` [s] have gone by."""
    turning = speed * surge_after
    return ahead / speed if ahead <= turning else surge_after + (ahead - turning) / (speed * surge)


def replay(
    producer: KafkaProducer, prefix: str, hours: int, speed: float, surge_after: float, surge: float
) -> None:
    """Sends every row when its time has come."""
    rows = streams(hours)
    merged = heapq.merge(*(_records(name, frame) for name, frame in rows.items()), key=lambda item: item[0])
    first, begin = None, time.monotonic()
    for ts, name, row in merged:
        first = ts if first is None else first
        ahead = due((ts - first) / 1e6, speed, surge_after, surge) - (time.monotonic() - begin)
        if ahead > 0.02:
            time.sleep(ahead)
        producer.send(prefix + name, message(row))
    for name, frame in rows.items():
        producer.send(prefix + name, message(last_row(frame)))
    producer.flush()
    print(f"sent {', '.join(f'{len(frame) + 1} {name}' for name, frame in rows.items())}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--prefix", default="", help="topics are named PREFIXdepartures, ...")
    parser.add_argument("--hours", type=int, default=60, help="hours of each month")
    parser.add_argument("--speed", type=float, default=1.0, help="seconds of event time in a second")
    parser.add_argument(
        "--surge", type=float, default=1.0, help="the speed's factor later on: a load that rises"
    )
    parser.add_argument("--surge-after", type=float, default=0.0, help="seconds before it does")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds to wait for the broker")
    arguments = parser.parse_args()
    admin = KafkaAdminClient(
        bootstrap_servers=arguments.servers, bootstrap_timeout_ms=round(arguments.patience * 1000)
    )
    make_topics(admin, [arguments.prefix + name for name in ("departures", "arrivals", "weather")])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=arguments.servers, linger_ms=20)
    replay(
        producer, arguments.prefix, arguments.hours, arguments.speed, arguments.surge_after, arguments.surge
    )


if __name__ == "__main__":
    main()
