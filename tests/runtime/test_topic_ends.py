"""Which ends of batches in a topic count, and which brokers have it; with real brokers in tests/kafka."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_runtime.exchanges.topic.log import accept
from weir_runtime.exchanges.topic.topic import Topic, replicas_in

START = {"next": 0, "offset": 0, "epoch": 0}
RACKS = {1: "a", 2: "b", 3: "c", 4: "a"}


def end(epoch: int, batch: int) -> dict[str, Any]:
    copy = f"{epoch}-{batch}"
    numbers = {"epoch": epoch, "batch": batch, "copy": copy, "first": -1, "last": -1, "pieces": 0}
    return numbers | {"rows": 0, "clock": batch, "newest": batch}


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Writers take over from each other; each writes the next batches, some twice, and the one before may
    come back with a batch that it had begun before it was over."""
    ends: list[dict[str, Any]] = []
    batch = 0
    for epoch in range(1, draw(st.integers(2, 4))):
        ends += [end(epoch, max(0, batch - 1))] * draw(st.integers(0, 1))
        for _ in range(draw(st.integers(0, 4))):
            ends += [end(epoch - 1, batch)] * draw(st.integers(0, 1))
            ends += [end(epoch, batch)] * draw(st.integers(1, 2))
            batch += 1
    return ends


@given(histories(), st.lists(st.integers(1, 3)))
def test_every_batch_counts_once_however_the_log_is_read_in_parts(
    history: list[dict[str, Any]], parts: list[int]
) -> None:
    records = list(enumerate(history))
    _, whole, _ = accept(START, records)
    assert [e.batch for e in whole] == list(range(max((t["batch"] for t in history), default=-1) + 1))
    place, ends_read = dict(START), []
    for most in [*parts, 1000]:
        place, ends, _ = accept(place, records[place["offset"] :], most)
        ends_read += ends
    assert ends_read == whole


def test_the_end_of_the_stream_is_behind_its_last_batch() -> None:
    records = [(0, end(1, 0)), (1, {"epoch": 1, "batches": 1}), (2, end(1, 1))]
    place, ends, ended = accept(START, records)
    assert (place["next"], place["offset"], len(ends), ended) == (1, 2, 1, True)


def test_a_gap_is_an_error_and_a_lower_epoch_is_none() -> None:
    with pytest.raises(ValueError, match="batches 1 to 2 are gone"):
        accept(START, [(0, end(2, 0)), (1, end(2, 3))])
    assert accept(START, [(0, end(2, 0)), (1, end(1, 3))])[0]["next"] == 1


def test_a_reader_without_a_place_begins_at_the_first_that_is_left() -> None:
    place, ends, _ = accept({"next": None, "offset": 0, "epoch": 0}, [(7, end(1, 5)), (8, end(1, 6))])
    assert (place["next"], [e.batch for e in ends]) == (7, [5, 6])


def test_a_topic_is_led_in_its_producers_zone_and_copied_into_others() -> None:
    for name in ("t", "u", "v", "w"):
        for zone in "abc":
            replicas = replicas_in(zone, RACKS, 3, name)
            assert RACKS[replicas[0]] == zone
            assert {RACKS[broker] for broker in replicas} == {"a", "b", "c"}
    assert {replicas_in("a", RACKS, 1, name)[0] for name in ("t", "u", "v", "w")} == {1, 4}
    assert len(set(replicas_in("b", RACKS, 4, "t"))) == 4


def test_kafka_decides_where_no_broker_is_in_the_zone() -> None:
    assert replicas_in("d", RACKS, 1, "t") == []
    assert replicas_in("", {1: "", 2: ""}, 1, "t") == []
    assert replicas_in("a", RACKS, 5, "t") == []


def test_a_topic_that_was_just_made_may_be_unknown_to_the_broker_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admin = LateAdmin()
    monkeypatch.setattr("weir_runtime.exchanges.topic.topic.admin_of", lambda options: admin)
    Topic("weir.default.f", {"bootstrapServers": "b:9092"}).create("a")
    assert admin.requests == 4, "once before it was made, then until it was known"


def test_a_move_that_does_not_end_is_taken_back_and_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = StuckAdmin()
    monkeypatch.setattr("weir_runtime.exchanges.topic.topic.admin_of", lambda options, quick=False: admin)
    topic = Topic("weir.default.f", {"bootstrapServers": "b:9092"})
    assert not any(topic.lead_in("b") for _ in range(3))
    assert admin.reassignments == [[2]], "it has time"
    monkeypatch.setattr("weir_runtime.exchanges.topic.topic.STALLED", -1.0)
    assert not any(topic.lead_in("b") for _ in range(2))
    assert admin.reassignments == [[2], None, [2]]


class StuckAdmin:
    """Of two brokers, the second of which never has a replica."""

    def __init__(self) -> None:
        self.reassignments: list[list[int] | None] = []

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [{"error_code": 0, "partitions": [{"replica_nodes": [1], "leader_id": 1}] * 3}]

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 1, "rack": "a"}, {"broker_id": 2, "rack": "b"}]}

    def list_partition_reassignments(self, topics: dict[str, list[int]]) -> dict[str, Any]:
        moving = bool(self.reassignments) and self.reassignments[-1] is not None
        return {"weir.default.f": {}} if moving else {}

    def alter_partition_reassignments(self, wanted: dict[Any, list[int] | None]) -> None:
        (replicas,) = {str(r): r for r in wanted.values()}.values()
        self.reassignments.append(replicas)


class LateAdmin:
    """Of two brokers, of which the one that is asked learns of a topic late."""

    requests = 0

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        self.requests += 1
        unknown = self.requests < 4
        return [{"error_code": 3 if unknown else 0, "partitions": [] if unknown else [{}, {}, {}]}]

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 1, "rack": "a"}, {"broker_id": 2, "rack": "b"}]}

    def create_topics(self, topics: dict[str, Any], wait_for_metadata: bool) -> None:
        assert list(topics) == ["weir.default.f"]
