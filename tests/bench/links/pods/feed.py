"""Sends the rows of one zone's streams at a rate that a file says: runs in a pod of that zone.

    python3 feed.py FOLDER ZONE

FOLDER is shared with whoever controls it. It holds feed.json (a `Plan`), <set>-<zone>.tsv (the rows; see
rows.py) and pace.json: a list of {"at", "position", "rate"}; from the clock's `at` on, rows of all zones
together are at `position` and go on at `rate` a second. It gets sent-<zone>.json: how many were sent.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICK = 0.05
TELL = 0.25
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
PAYLOADS = 64
NOW = 0


@dataclass(frozen=True)
class FeedPlan:
    """`topics`: the zone of each; the feeder of zone `maker` makes them all. `prefix` goes before the
    streams' names; `cycle` and `period` as in rows.Written."""

    rows: str
    prefix: str
    topics: dict[str, str]
    maker: str
    payload: int
    cycle: int
    period: int
    servers: str


def assignments(topics: dict[str, str], racks: dict[int, str]) -> dict[str, dict[str, Any]]:
    """How to make the topics, each with one partition on its own zone's broker."""
    broker = {rack: number for number, rack in racks.items()}
    if missing := sorted(set(topics.values()) - set(broker)):
        raise SystemExit(f"no broker in {', '.join(missing)}: there are {racks}")
    settings = {"retention.bytes": str(4 * 2**30), "segment.bytes": str(64 * 2**20)}
    return {
        topic: {"assignments": {0: [broker[zone]]}, "configs": settings} for topic, zone in topics.items()
    }


def left_over(topics: list[str], prefix: str) -> list[str]:
    """Of runs before this one: gigabytes. Kafka's own begin with an underscore."""
    return [topic for topic in topics if not topic.startswith(("_", prefix))]


def target(pace: list[dict[str, float]], now: float) -> float:
    """How many rows of all zones should have been sent by now."""
    past = [step for step in pace if step["at"] <= now]
    if not past:
        return 0.0
    last = past[-1]
    return last["position"] + last["rate"] * (now - last["at"])


def payloads(size: int) -> list[str]:
    """Text that no compression makes much smaller; the same few again and again, far apart."""
    chance = random.Random(1)
    return ["".join(chance.choices(ALPHABET, k=size)) for _ in range(PAYLOADS)]


def rows(path: Path, cycle: int, period: int) -> Iterator[tuple[int, str, int, str]]:
    """(position, stream, event time, rest of the object), for ever."""
    with path.open() as file:
        split = [line.rstrip("\n").split("\t", 3) for line in file]
    written = [(int(position), stream, int(at), rest) for position, stream, at, rest in split]
    turn = 0
    while True:
        for position, stream, at, rest in written:
            yield position + turn * cycle, stream, at + turn * period if at != NOW else NOW, rest
        turn += 1


class TextClock:
    """Times as text; the part down to seconds is made once for each."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def text(self, at: int) -> str:
        """ISO 8601 of microseconds since 1970."""
        second, rest = divmod(at, 1_000_000)
        if second != self._second:
            self._second, self._text = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._text}.{rest:06d}Z"


def message(at: str, payload: str, rest: str) -> bytes:
    """A row: the time, the payload, then what the file has."""
    return f'{{"ts": "{at}", "payload": "{payload}", {rest}'.encode()


def write(path: Path, content: object) -> None:
    """It appears whole."""
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(json.dumps(content))
    os.rename(temporary, path)


def feed(folder: Path, zone: str) -> None:
    """Until it is killed."""
    from kafka import KafkaAdminClient, KafkaProducer

    plan = FeedPlan(**json.loads((folder / "feed.json").read_text()))
    if zone == plan.maker:
        admin = KafkaAdminClient(bootstrap_servers=plan.servers.split(","), bootstrap_timeout_ms=120_000)
        racks = {int(b["broker_id"]): str(b["rack"]) for b in admin.describe_cluster()["brokers"]}
        if old := left_over(admin.list_topics(), plan.prefix):
            admin.delete_topics(old)
        admin.create_topics(assignments(plan.topics, racks), wait_for_metadata=True)
        admin.close()
    producer = KafkaProducer(
        bootstrap_servers=plan.servers.split(","),
        linger_ms=10,
        batch_size=256 * 1024,
        acks=1,
        enable_idempotence=False,
    )
    source = folder / f"{plan.rows}-{zone}.tsv"
    sent: dict[str, int] = {}
    coming = rows(source, plan.cycle, plan.period) if source.exists() else iter(())
    following = next(coming, None)
    fill, clock, last_tell, turn = payloads(plan.payload), TextClock(), 0.0, 0
    while True:
        now = time.time()
        try:
            pace = json.loads((folder / "pace.json").read_text())
        except FileNotFoundError:
            pace = []
        goal = target(pace, now)
        while following and following[0] < goal:
            _, stream, at, rest = following
            moment = clock.text(at or int(time.time() * 1e6))
            producer.send(plan.prefix + stream, message(moment, fill[turn % PAYLOADS], rest))
            sent[stream] = sent.get(stream, 0) + 1
            turn += 1
            following = next(coming)
            if turn % 256 == 0 and time.time() - now > TELL:
                break
        if now - last_tell > TELL:
            last_tell = now
            late = goal - following[0] if following else 0.0
            write(
                folder / f"sent-{zone}.json", {"at": time.time(), "sent": sent, "rows_late": max(0.0, late)}
            )
        time.sleep(max(0.0, TICK - (time.time() - now)))


if __name__ == "__main__":
    feed(Path(sys.argv[1]), sys.argv[2])
