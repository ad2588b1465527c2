"""A sink whose batches are transactions: what came again, was given up or was too late is not there."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient
from weir_placement.model.fragment import FragmentError, FragmentSpec, Output
from weir_runtime import kafka_sinks, kafka_transactions
from weir_runtime.audit_topics import messages
from weir_runtime.compiler import ID
from weir_runtime.kafka_sinks import TransactionalKafkaSink
from weir_runtime.publish import Fenced, OlderCheckpoint, OtherNumbering
from weir_runtime.unreachable import ServersAway

from tests.kafka.broker import Broker
from tests.kafka.test_exchange import until
from tests.kafka.topics import Topic
from tests.runtime.flows import Died, dies, fenced, free
from tests.runtime.support import fragment

_numbers = itertools.count()
New = Callable[..., TransactionalKafkaSink]


@pytest.fixture
def spec(broker: Broker, tmp_path: Path) -> FragmentSpec:
    """Of a sink with a topic of its own."""
    topic = Topic(broker, f"once-{next(_numbers)}", partitions=3)
    return fragment(tmp_path, "g", [], [], Output("kafka", options={**topic.options, "transactional": True}))


@pytest.fixture
def new(spec: FragmentSpec) -> New:
    """A process's sink, claimed; of another spec, it is of that one's query, topic or cut."""

    def made(
        numbering: str = "n1", fresh: bool = False, prefix: str = "p", of: FragmentSpec = spec
    ) -> TransactionalKafkaSink:
        sink = TransactionalKafkaSink(of, prefix, [("v", "v")])
        sink.claim(numbering, fresh)
        return sink

    return made


def rows(*values: int) -> pa.Table:
    ids = pa.array([b"%d" % value for value in values], pa.binary())
    return pa.table({"v": pa.array(values, pa.int64()), ID: ids})


def there(spec: FragmentSpec) -> Counter[bytes | None]:
    """What a reader of committed messages sees."""
    return Counter(message.value() for message in messages(spec.output.options))


def of(*values: int) -> Counter[bytes | None]:
    return Counter(b'{"v": %d}' % value for value in values)


def test_a_batch_that_comes_again_is_written_once(spec: FragmentSpec, new: New) -> None:
    sink = new(fresh=True)
    assert sink.write(rows(1, 2), 0, 0, free) > 0
    assert sink.write(rows(1, 2), 0, 0, free) == 0
    again = new()
    assert again.write(rows(1, 2), 0, 0, free) == 0
    assert again.write(rows(), 1, 0, free) == 0
    assert again.write(rows(3), 2, 0, free) > 0
    assert there(spec) == of(1, 2, 3)


def test_what_was_not_committed_is_not_there(spec: FragmentSpec, new: New) -> None:
    """A process that dies, and one that is fenced, when the rows are with the brokers."""
    for ends, error in ((dies, Died), (fenced, Fenced)):
        with pytest.raises(error):
            new(fresh=True).write(rows(1, 2), 0, 0, ends)
    new(fresh=True).write(rows(1, 2), 0, 0, free)
    assert there(spec) == of(1, 2)


def test_a_process_that_was_frozen_adds_nothing_when_another_has_claimed_the_sink(
    spec: FragmentSpec, new: New
) -> None:
    frozen = new(fresh=True)
    frozen.write(rows(1), 0, 0, free)

    def meanwhile() -> None:
        """Between the look at the lease and the commit."""
        new().write(rows(2, 3), 1, 0, free)

    with pytest.raises(KafkaException):
        frozen.write(rows(2, 3), 1, 0, meanwhile)
    new().write(rows(2, 3), 1, 0, free)
    assert there(spec) == of(1, 2, 3)


@pytest.mark.parametrize("prefix", ["p", "changed"])
def test_a_sink_with_batches_of_a_lost_checkpoint_is_refused(
    spec: FragmentSpec, new: New, prefix: str
) -> None:
    """Also where the plan of the query that is made again is another one, and its group hence too."""
    new(fresh=True).write(rows(1), 0, 0, free)
    topic = spec.output.options["topic"]
    with pytest.raises(
        OtherNumbering, match=rf"topic {topic}, consumer group weir-sink\.default\.q\.p: .* n1, .* is n2"
    ):
        new("n2", True, prefix)
    assert there(spec) == of(1)


def test_a_plan_that_goes_on_behind_a_cut_writes_beside_the_one_before(spec: FragmentSpec, new: New) -> None:
    before = new(fresh=True)
    before.write(rows(1), 0, 0, free)
    after_the_cut = replace(spec, output=replace(spec.output, after=1))
    new("n2", True, "changed", of=after_the_cut).write(rows(3), 0, 0, free)
    before.write(rows(2), 1, 0, free)
    new().write(rows(2), 1, 0, free)
    assert there(spec) == of(1, 2, 3)


def test_a_plan_that_has_written_nothing_holds_up_no_other(spec: FragmentSpec, new: New) -> None:
    """As one that is edited before its first rows: the plan after it begins where it began."""
    new(fresh=True).write(rows(), 0, 0, free)
    new("n2", True, "changed").write(rows(1), 0, 0, free)
    assert there(spec) == of(1)


def test_a_topic_that_other_queries_write_or_a_query_with_another_topic_is_accepted(
    broker: Broker, spec: FragmentSpec, new: New
) -> None:
    queries = [replace(spec, query=name) for name in ("q2", "q.p", "q.p.p")]
    for query in queries:
        new(fresh=True, of=query).write(rows(1), 0, 0, free)
    other = Topic(broker, f"once-{next(_numbers)}")
    elsewhere = replace(spec, output=replace(spec.output, options={**spec.output.options, **other.options}))
    new("n2", True, "elsewhere", of=elsewhere).write(rows(2), 0, 0, free)
    new("n3", True, "changed").write(rows(3), 0, 0, free)
    assert there(spec) == of(1, 1, 1, 3)


def test_a_transaction_that_another_plan_has_left_open_is_waited_for(spec: FragmentSpec, new: New) -> None:
    """Its process may be frozen, and commit it."""
    frozen = new(fresh=True)

    def meanwhile() -> None:
        with pytest.raises(ServersAway):
            new("n2", True, "changed")

    frozen.write(rows(1), 0, 0, meanwhile)
    with pytest.raises(OtherNumbering):
        new("n2", True, "changed")


def test_a_sink_with_batches_that_the_checkpoint_has_not_planned_is_refused(
    spec: FragmentSpec, new: New
) -> None:
    sink = new(fresh=True)
    for number in range(4):
        sink.write(rows(number), number, 0, free)
    again = TransactionalKafkaSink(spec, "p", [("v", "v")])
    again.take_over("n1", 3)
    with pytest.raises(OlderCheckpoint, match=r"weir-sink\..*: batch 3 is there, but .* up to 1 only"):
        again.take_over("n1", 1)


def test_a_sink_whose_group_is_gone_says_so(
    spec: FragmentSpec, new: New, capfd: pytest.CaptureFixture[str]
) -> None:
    """Brokers forget the offsets of a group that has been silent for days."""
    new(fresh=True).write(rows(1), 0, 0, free)
    assert "may appear twice" not in capfd.readouterr().err
    admin = AdminClient({"bootstrap.servers": spec.output.options["bootstrapServers"]})
    group = f"weir-sink.{spec.namespace}.{spec.query}.p"
    admin.delete_consumer_groups([group])[group].result(30)
    new().write(rows(2), 1, 0, free)
    assert "one that was being written may appear twice" in capfd.readouterr().err
    assert there(spec) == of(1, 2)


def test_more_messages_than_the_client_holds_are_one_batch(spec: FragmentSpec, new: New) -> None:
    new(fresh=True).write(rows(*range(100_100)), 0, 0, free)
    assert there(spec).total() == 100_100


def test_a_topic_that_refuses_a_message_is_an_error_and_has_nothing(spec: FragmentSpec, new: New) -> None:
    wide = rows(1, 2).set_column(0, "v", pa.array(["short", "x" * 2_000_000]))
    with pytest.raises(KafkaException, match="too large"):
        new(fresh=True).write(wide, 0, 0, free)
    new(fresh=True).write(rows(1), 0, 0, free)
    assert there(spec) == of(1)


def open_for(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for module in (kafka_sinks, kafka_transactions):
        monkeypatch.setattr(module, "TRANSACTION", seconds)


def test_brokers_that_allow_only_shorter_transactions_are_refused(
    new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_for(monkeypatch, 901.0)  # they allow 900
    with pytest.raises(FragmentError, match=r"for 901 s\. Set their option transaction\.max\.timeout\.ms"):
        new(fresh=True)


def test_a_transaction_that_brokers_have_given_up_says_so_and_is_written_again(
    spec: FragmentSpec, new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_for(monkeypatch, 5.0)
    name = f"weir-sink.{spec.namespace}.{spec.query}.p.n1"
    admin = KafkaAdminClient(bootstrap_servers=spec.output.options["bootstrapServers"])

    def until_given_up() -> None:
        until(lambda: "abort" in str(admin.describe_transactions([name])).lower())

    with pytest.raises(TimeoutError, match="batch 0: its transaction was open for more than 5 s"):
        new(fresh=True).write(rows(1), 0, 0, until_given_up)
    admin.close()
    new().write(rows(1), 0, 0, free)
    assert there(spec) == of(1)
