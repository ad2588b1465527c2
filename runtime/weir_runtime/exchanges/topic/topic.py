"""An exchange as a Kafka topic: what is in its three partitions, and which brokers have them.

Rows lie in one partition, the ends of batches in another: a reader follows the ends alone, and fetches
the rows once. Each partition has one order for all readers, and an end names its rows by their offsets,
so no order between the two is needed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.errors import (
    InvalidReplicationFactorError,
    KafkaError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
)
from weir_placement.model.fragment import FragmentError

from weir_runtime import thread_clients
from weir_runtime.kafka_clients import FETCH_WAIT_MS, METADATA_MS, aim, client_settings, never_creating

ROWS, ENDS, ABOUT = 0, 1, 2
"""Partitions: pieces of batches; the end of each batch and of the stream; what the stream is and where its
producer answers."""
PARTITIONS = (ROWS, ENDS, ABOUT)

FACTS = {"stream", "producer", "numbering", "owner"}
"""What a record of partition 2 has one of."""

SEGMENT = 16 * 2**20
"""[bytes] Brokers free whole segments, so this much of what is deleted may stay on a disk."""

PIECE = 512 * 1024
"""[bytes] of a batch in one message: brokers take 1 MiB by default."""

PATIENCE = 60.0
"""[s] for which records that exist, and do not arrive, are awaited."""

BOOTSTRAP_MS = 5_000
"""Longest wait for the first broker that answers."""

KNOWN = 10.0
"""[s] within which every broker knows of a new topic."""
LOOK = 0.05
"""[s] between two questions for it."""

STALLED = 60.0
"""[s] A topic has few rows at a time (`TopicWriter.delete_consumed`): a move takes seconds."""

QUICK = {"request_timeout_ms": 5_000}

_clients = threading.local()


def _client(kind: type[Any], options: Mapping[str, Any], use: str = "", **settings: Any) -> Any:
    """One of this thread for the same brokers and use: a client must not be shared between threads.

    Raises KafkaError that names the brokers when none answers.
    """
    clients = _clients.__dict__.setdefault("clients", {})
    key = (kind.__name__, use, json.dumps([options.get("bootstrapServers"), options.get("security")]))
    if key not in clients:
        log_in = client_settings(dict(options))
        networks: list[Any] = []  # what a client that finds no broker leaves open

        def network(**config: Any) -> Any:
            networks.append(never_creating(kind.DEFAULT_CONFIG["kafka_client"], **config))
            return networks[-1]

        settings |= {"bootstrap_timeout_ms": BOOTSTRAP_MS, "kafka_client": network}
        try:
            clients[key] = kind(**log_in, **settings)
        except KafkaError as error:
            for item in networks:
                item.close()
            raise type(error)(f"exchange.kafka: {options['bootstrapServers']}: {error!r}") from error
        thread_clients.keep(clients[key].close)
    return clients[key]


def admin_of(options: Mapping[str, Any], quick: bool = False) -> KafkaAdminClient:
    """This thread's client for topics, groups and deletion; a quick one soon gives up: while it waits, the
    thread renews no lease."""
    return _client(KafkaAdminClient, options, "quick" if quick else "", **(QUICK if quick else {}))


class Topic:
    """One exchange.

    Args:
        name: `<prefix><namespace>.<fragment>`.
        options: bootstrapServers, security as in a Stream's kafka source; of a producer also replication.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        self.options = dict(options)
        self._moving_since: float | None = None  # [s, monotonic] as `lead_in` saw it

    def partition(self, number: int) -> TopicPartition:
        """As Kafka's clients call it."""
        return TopicPartition(self.name, number)

    def group(self, consumer: str) -> str:
        """Where a reading fragment's position is kept: named as its own topic would be."""
        return f"{self.name.rsplit('.', 1)[0]}.{consumer}"

    def exists(self) -> bool:
        """Whether it exists, without making it."""
        return bool(self._described())

    def create(self, zone: str) -> None:
        """Makes the topic if it does not exist, led in `zone` if a broker is in that zone.

        Raises:
            FragmentError: it is a topic of another kind, or there are fewer brokers than replicas.
        """
        admin, replication = admin_of(self.options), int(self.options.get("replication", 1))
        if not self.exists():
            replicas = replicas_in(zone, _racks(admin), replication, self.name)
            placed: dict[str, Any] = {"num_partitions": len(PARTITIONS), "replication_factor": replication}
            if replicas:
                placed = {"assignments": dict.fromkeys(PARTITIONS, replicas)}
            try:
                settings = placed | {"configs": topic_settings(replication)}
                admin.create_topics({self.name: settings}, wait_for_metadata=True)
            except TopicAlreadyExistsError:
                pass
            except InvalidReplicationFactorError as error:
                raise FragmentError(f"exchange.kafka.replication: {replication}: {error}") from error
        count = self._partition_count()
        if count != len(PARTITIONS):
            raise FragmentError(
                f"topic {self.name}: it has {count} partitions and was not created by Weir, whose topics "
                f"have {len(PARTITIONS)}; delete it, or give exchange.kafka.topicPrefix another value"
            )

    def _partition_count(self) -> int:
        """How many partitions it has, once a broker that is asked knows them: each learns of a new topic by
        itself, a moment after the one that made it."""
        deadline = time.monotonic() + KNOWN
        while not (partitions := self._described()) and time.monotonic() < deadline:
            time.sleep(LOOK)
        return len(partitions)

    def lead_in(self, zone: str) -> bool:
        """Whether it is led in `zone` now, if it can be: else its replicas begin to move there. Called again
        until true. A move that does not end is taken back: asked for again, its new replicas begin anew."""
        admin = admin_of(self.options, quick=True)
        described, racks = self._described(), _racks(admin)
        there = [list(p["replica_nodes"]) for p in described]
        if zone not in racks.values() or all(racks.get(p["leader_id"]) == zone for p in described):
            return True
        if admin.list_partition_reassignments({self.name: list(PARTITIONS)}):
            if self._moving_since is None:
                self._moving_since = time.monotonic()
            if time.monotonic() - self._moving_since > STALLED:
                admin.alter_partition_reassignments({self.partition(n): None for n in PARTITIONS})
                self._moving_since = None
            return False
        self._moving_since = None
        replicas = replicas_in(zone, racks, max(map(len, there)), self.name)
        if there == [replicas] * len(there):
            admin.elect_leaders(0, {self.name: list(PARTITIONS)}, raise_errors=False)
        else:
            admin.alter_partition_reassignments({self.partition(n): replicas for n in PARTITIONS})
        return False

    def beyond(self, number: int) -> int:
        """The offset of the next record of a partition."""
        partition = self.partition(number)
        return int(self._consumer(number).end_offsets([partition])[partition])

    def records(self, number: int, first: int, beyond: int) -> Iterator[Any]:
        """Records of a partition in [first, beyond), from the first that is left. Raises TimeoutError when
        the brokers do not give them."""
        consumer, partition = self._consumer(number), self.partition(number)
        if first == 0:
            first = int(consumer.beginning_offsets([partition])[partition])
        aim(consumer, partition, first)
        deadline = time.monotonic() + PATIENCE
        while first < beyond:
            try:
                records = consumer.poll(1000, max_records=beyond - first).get(partition, [])
            except OffsetOutOfRangeError as error:
                raise ValueError(f"topic {self.name}: partition {number}: offset {first} is gone") from error
            for record in records:
                first = record.offset + 1
                if record.offset < beyond:
                    yield record
                deadline = time.monotonic() + PATIENCE  # when whoever takes them asks for the next one
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"topic {self.name}: partition {number}: no record from offset {first} on came "
                    f"within {PATIENCE:g} s, though some are before {beyond}; see whether it has a leader"
                )

    def about(self) -> dict[str, Any]:
        """The latest facts about the stream: `stream`, `producer`."""
        facts: dict[str, Any] = {}
        for record in self.records(ABOUT, 0, self.beyond(ABOUT)):
            facts |= json.loads(record.value)
        return facts

    def owner(self) -> str | None:
        """The installation whose it is; None when nothing says so, as of a topic that is not Weir's.

        Reads what it is about only as far as that is of Weir."""
        if len(self._described()) != len(PARTITIONS):
            return None
        for record in self.records(ABOUT, 0, self.beyond(ABOUT)):
            fact = _fact(record.value)
            if fact is None:
                return None
            if "owner" in fact:
                return str(fact["owner"]["installation"])
        return None

    def _consumer(self, number: int) -> KafkaConsumer:
        return _client(
            KafkaConsumer,
            self.options,
            f"{self.name} {number}",
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=FETCH_WAIT_MS,
            metadata_max_age_ms=METADATA_MS,
            **({} if number == ROWS else QUICK),
        )

    def _described(self) -> list[dict[str, Any]]:
        topics = admin_of(self.options).describe_topics([self.name])
        return [] if not topics or topics[0]["error_code"] else list(topics[0]["partitions"])


def topic_settings(replication: int) -> dict[str, str]:
    """Brokers delete nothing by age: a reader that is away for longer than any fixed time would lose rows.
    The producer deletes what every reader is past and no replay needs."""
    return {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": "-1",
        "segment.bytes": str(SEGMENT),
        "min.insync.replicas": str(max(1, replication - 1)),
    }


def replicas_in(zone: str, racks: Mapping[int, str], replication: int, name: str) -> list[int]:
    """Brokers for a partition: first, so it leads, one in `zone`; then of other zones, as many as can be.

    Empty when no broker is in `zone` or there are too few brokers: Kafka then decides, or refuses. Which
    of several goes by the topic's name, so that topics spread.
    """
    order = sorted(racks)
    turn = sum(name.encode()) % max(1, len(order))
    order = order[turn:] + order[:turn]
    chosen = [broker for broker in order if zone and racks[broker] == zone][:1]
    if not chosen or replication > len(order):
        return []
    while len(chosen) < replication:
        used: Sequence[str] = [racks[broker] for broker in chosen]
        left = [broker for broker in order if broker not in chosen]
        chosen.append(min(left, key=lambda broker: used.count(racks[broker])))
    return chosen


def position_note(following: int, installation: str) -> str:
    """What goes with a reader's position: the batch that comes next, and whose reader it is."""
    return f"{following} {installation}".rstrip()


def owner_in_note(note: str | None) -> str | None:
    """The installation in a `position_note`; None when it names none."""
    return (note or "").partition(" ")[2] or None


def _fact(value: bytes | None) -> dict[str, Any] | None:
    """A record of partition 2; None: it is not of Weir."""
    try:
        fact = json.loads(value or b"")
    except ValueError:
        return None
    return fact if isinstance(fact, dict) and fact.keys() & FACTS else None


def _racks(admin: KafkaAdminClient) -> dict[int, str]:
    """`broker.rack` of each broker; "" where none is set."""
    brokers = admin.describe_cluster()["brokers"]
    return {int(broker["broker_id"]): str(broker["rack"] or "") for broker in brokers}
