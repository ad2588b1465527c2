"""A topic between fragments: each batch once, whatever writers died, came late or wrote again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest
from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError
from weir_placement.model.fragment import FragmentError
from weir_runtime.exchanges.ports import Unread
from weir_runtime.exchanges.topic.log import TopicLog
from weir_runtime.exchanges.topic.topic import ENDS, PIECE, ROWS, Topic, admin_of, topic_settings
from weir_runtime.exchanges.topic.writer import TopicWriter
from weir_runtime.logs.log import Place
from weir_runtime.publish import Fenced, OlderCheckpoint, OtherNumbering

from tests.kafka.broker import Broker
from tests.runtime.flows import DESCRIPTION, SCHEMA, Died, batch, dies, fenced, free

START: Place = {"next": 0, "offset": 0, "epoch": 0}


def writer(topic: Topic, epoch: int = 1, consumers: tuple[str, ...] = (), keep: int = 0) -> TopicWriter:
    new_writer = TopicWriter(topic, epoch, "z1", consumers, keep)
    new_writer.describe(DESCRIPTION)
    return new_writer


def log(topic: Topic, consumer: str = "r") -> TopicLog:
    return TopicLog(topic, SCHEMA, consumer)


def values(reader: TopicLog, start: Place, end: Place) -> list[int]:
    return [v for part in reader.read(start, end) for v in part.column(0).to_pylist()]


def commit(topic: Topic, consumer: str, place: Place) -> None:
    """As a reader does after each batch; the first may come before brokers are ready to keep positions."""
    group, ends = topic.group(consumer), topic.partition(ENDS)

    def known() -> bool:
        log(topic, consumer).committed(place)
        try:
            offsets = admin_of(topic.options).list_group_offsets({group: [ends]})[group]
        except KafkaError:
            return False
        return bool(ends in offsets and offsets[ends].offset == place["offset"])

    until(known)


def whole(topic: Topic, start: Place = START) -> tuple[list[int], Place]:
    """All that a reader from `start` on takes, and where it is then."""
    reader = log(topic)
    place = reader.advance(start, 0, 1000).place
    return values(reader, start, place), place


def test_a_flow_belongs_to_one_numbering(topic: Topic) -> None:
    first = writer(topic)
    first.claim("one", fresh=True)
    first.write(batch(1), 0, 5, free)
    writer(topic).claim("one", fresh=False)
    with pytest.raises(OtherNumbering, match="numbering one, this one's is two"):
        writer(topic).claim("two", fresh=True)
    writer(topic).take_over("one", 0)
    with pytest.raises(OlderCheckpoint, match="batch 0 is there"):
        writer(topic).take_over("one", -1)
    place = log(topic).advance(START, 0, 64).place
    assert place == {"next": 1, "offset": 1, "epoch": 1, "of": "one"}
    first.write(batch(2), 1, 6, free)
    assert values(log(topic), place, log(topic).advance(place, 5, 64).place) == [2]
    with pytest.raises(OtherNumbering):
        log(topic).advance({**place, "of": "two"}, 5, 64)


def test_batches_are_read_as_they_were_written_and_empty_ones_carry_the_clock(topic: Topic) -> None:
    out, reader = writer(topic), log(topic)
    out.write(batch(5, 3), 0, 1, free)
    out.write(batch(), 1, 4, free)
    out.write(batch(9), 2, 6, free)
    one = reader.advance(START, 0, 1)
    assert (one.place["next"], one.clock, one.ended) == (1, 1, False)
    assert values(reader, START, one.place) == [5, 3]
    two = reader.advance(one.place, one.clock, 1)
    assert (two.place["next"], two.clock) == (2, 4)
    assert values(reader, one.place, two.place) == []
    assert reader.backlog(two.place) == 1
    out.end(3, free)
    three = reader.advance(two.place, two.clock, 64)
    assert (three.place["next"], three.clock, three.ended) == (3, 6, True)
    assert reader.backlog(three.place) == 0
    assert values(reader, START, three.place) == [5, 3, 9]
    assert TopicWriter(topic, 2).ended()


def test_a_batch_larger_than_a_message(topic: Topic) -> None:
    big = list(range(1, 300_000))
    table = batch(*((v * 2654435761) % 2**40 for v in big))
    assert writer(topic).write(table, 0, 0, free) > 2 * PIECE
    assert topic.beyond(ROWS) > 2
    assert whole(topic)[0] == table.column("v").to_pylist()


def test_what_has_no_end_was_never_published(topic: Topic) -> None:
    with pytest.raises(Died):
        writer(topic).write(batch(1, 2), 0, 0, dies)
    assert log(topic).advance(START, 0, 64).place == START
    writer(topic).write(batch(2, 1), 0, 0, free)
    assert whole(topic)[0] == [2, 1], "pieces of both lives lie there, of the same epoch and batch"


def test_an_epoch_that_is_over_publishes_nothing(topic: Topic) -> None:
    old, new = writer(topic, 1), writer(topic, 2)
    old.write(batch(1), 0, 0, free)
    new.write(batch(2), 1, 0, free)
    with pytest.raises(Fenced):
        old.write(batch(3), 1, 0, fenced)
    assert whole(topic)[0] == [1, 2]


def test_of_two_copies_every_reader_takes_the_first_and_at_replays_too(topic: Topic) -> None:
    old, new = writer(topic, 1), writer(topic, 2)
    old.write(batch(1), 0, 0, free)
    new.write(batch(2), 1, 0, free)
    old.write(batch(20), 1, 0, free)  # it asked for its lease before it was frozen
    new.write(batch(3), 2, 0, free)
    batches, end = whole(topic)
    assert batches == [1, 2, 3]
    middle = log(topic).advance(START, 0, 2).place
    assert values(log(topic), middle, end) == [3]
    assert values(log(topic), START, middle) == [1, 2]
    assert whole(topic, middle)[0] == [3]


def test_a_lower_epoch_is_fenced_though_its_batch_would_be_the_next(topic: Topic) -> None:
    old, new = writer(topic, 1), writer(topic, 2)
    old.write(batch(1), 0, 0, free)
    new.write(batch(2), 1, 0, free)
    stale = {"epoch": 1, "batch": 2, "copy": "c", "first": -1, "last": -1, "pieces": 0, "rows": 0}
    _raw(topic, ENDS, json.dumps(stale | {"clock": 99, "newest": 99}).encode())
    new.write(batch(3), 2, 5, free)
    reader = log(topic)
    advance = reader.advance(START, 0, 64)
    assert (values(reader, START, advance.place), advance.clock) == ([1, 2, 3], 5)
    place = reader.advance(START, 0, 2).place
    assert reader.advance(place, 0, 64).clock == 5, "the place remembers the epoch"


def test_a_writer_that_begins_again_writes_nothing_twice(topic: Topic) -> None:
    writer(topic).write(batch(1), 0, 0, free)
    again = writer(topic)
    end = topic.beyond(ROWS), topic.beyond(ENDS)
    assert again.write(batch(1), 0, 0, free) == 0
    assert (topic.beyond(ROWS), topic.beyond(ENDS)) == end
    with pytest.raises(Fenced):
        again.write(batch(1), 0, 0, fenced)
    again.write(batch(2), 1, 0, free)
    assert whole(topic)[0] == [1, 2]


def test_readers_hold_back_deletion_and_the_last_end_stays(topic: Topic) -> None:
    out = writer(topic, consumers=("r1", "r2"))
    for number in range(6):
        out.write(batch(number + 1), number, number, free)
    assert out.delete_consumed() == 0, "no reader has said anything yet"
    at_four = log(topic).advance(START, 0, 4).place
    commit(topic, "r1", at_four)
    assert out.delete_consumed() == 0, "the other reader has not"
    commit(topic, "r2", at_four)
    assert out.delete_consumed() == 4
    assert whole(topic, at_four)[0] == [5, 6]
    with pytest.raises(ValueError, match="batches 0 to 3 are gone"):
        whole(topic)
    place = whole(topic, at_four)[1]
    for name in ("r1", "r2"):
        commit(topic, name, place)
    assert out.delete_consumed() == 1
    again = writer(topic, 2, ("r1", "r2"))
    again.write(batch(7), 6, 6, free)
    assert whole(topic, place)[0] == [7], "one that comes later knows what is next"
    assert again.delete_consumed() == 1


def test_what_the_slowest_reader_has_not_read_holds_the_producer_in_each_of_its_lives(topic: Topic) -> None:
    tables = [batch(*range(1, 10 * (n + 1))) for n in range(5)]
    sizes = [table.nbytes for table in tables]
    out = writer(topic, consumers=("quick", "slow"))
    out.take_over("n", -1)
    assert out.unread().bytes == 0
    for number, table in enumerate(tables[:4]):
        out.write(table, number, number, free)
    assert out.unread().bytes == sum(sizes[:4]), "nobody has said anything yet"
    place = log(topic).advance(START, 0, 2).place
    commit(topic, "slow", place)
    commit(topic, "quick", log(topic).advance(place, 0, 64).place)
    assert out.unread() == Unread(sum(sizes[2:4]), "slow")
    again = writer(topic, 2, ("quick", "slow"))
    again.take_over("n", 3)
    assert again.unread() == Unread(sum(sizes[2:4]), "slow"), "before it writes anything"
    again.write(tables[4], 4, 4, free)
    assert again.unread() == Unread(sum(sizes[2:]), "slow")
    assert again.delete_consumed() == 2
    assert again.unread() == Unread(sum(sizes[2:]), "slow")
    commit(topic, "slow", log(topic).advance(place, 0, 64).place)
    assert again.unread() == Unread(sizes[4], "quick")


def test_a_replay_keeps_what_it_needs(topic: Topic) -> None:
    out = writer(topic, consumers=("r",), keep=3)
    for number in range(10):
        out.write(batch(number + 1), number, number, free)
    commit(topic, "r", whole(topic)[1])
    assert out.delete_consumed() == 5, "the clock is 9, so rows from 6 on stay"
    place = {"next": 5, "offset": 5, "epoch": 1}
    assert whole(topic, place)[0] == [6, 7, 8, 9, 10]


def test_a_topic_that_was_emptied_is_an_error_for_both_sides(topic: Topic) -> None:
    out = writer(topic)
    out.write(batch(1), 0, 0, free)
    out.write(batch(2), 1, 0, free)
    place = whole(topic)[1]
    admin_of(topic.options).delete_topics([topic.name])
    until(lambda: not topic.exists())
    anew = writer(topic)
    with pytest.raises(ValueError, match="emptied or recreated"):
        log(topic).advance(place, 0, 64)
    with pytest.raises(RuntimeError, match="batch 2 is next, but the last one is -1"):
        anew.write(batch(3), 2, 0, free)


def test_it_says_what_it_is_once_and_where_its_producer_is_now(topic: Topic) -> None:
    assert not topic.exists()
    assert not TopicWriter(topic, 1).ended()
    first, second = writer(topic, 1), writer(topic, 2)
    first.announce({"host": "a", "port": 1})
    second.announce({"host": "b", "port": 2})
    assert topic.about() == {"stream": DESCRIPTION, "producer": {"host": "b", "port": 2}}
    resource = ConfigResource(ConfigResourceType.TOPIC, topic.name)
    settings = str(admin_of(topic.options).describe_configs([resource]))
    assert all(f"'{name}'" in settings for name in topic_settings(3)), settings


def test_a_topic_of_somebody_else_is_not_used(broker: Broker) -> None:
    other = Topic("weir.default.theirs", broker.options)
    admin_of(other.options).create_topics({other.name: {"num_partitions": 1, "replication_factor": 1}})
    with pytest.raises(FragmentError, match=r"weir.default.theirs: it has 1 partitions.*topicPrefix"):
        other.create("z1")


def test_more_replicas_than_brokers_are_refused(broker: Broker) -> None:
    topic = Topic("weir.default.many", broker.options | {"replication": 3})
    with pytest.raises(FragmentError, match=r"exchange.kafka.replication: 3"):
        topic.create("z1")


def _raw(topic: Topic, partition: int, value: bytes) -> None:
    producer = KafkaProducer(bootstrap_servers=topic.options["bootstrapServers"])
    producer.send(topic.name, value, partition=partition).get(timeout=30)
    producer.close()


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    for _ in ticks(seconds):
        if condition():
            return


def ticks(seconds: float = 30.0) -> Iterator[None]:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        yield
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")
