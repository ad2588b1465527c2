"""Two fragments with a topic between them; the producer is killed between rows and end, and at hand-overs."""

from __future__ import annotations

from pathlib import Path

from weir_placement.model.fragment import Output
from weir_placement.model.location import Location
from weir_runtime.exchanges.topic.topic import ENDS, Topic
from weir_runtime.exchanges.topic.writer import TopicWriter

from tests.kafka.broker import Broker
from tests.runtime.flows import assert_right_through_kills_and_moves


def test_a_flow_over_kafka_is_right_to_the_row_through_kills_and_moves(
    broker: Broker, tmp_path: Path
) -> None:
    topic = Topic("weir.default.f-f", broker.options)
    flow = Output("exchange", flow=Location("topic", topic.name, broker.options))
    assert_right_through_kills_and_moves(
        tmp_path, flow, ["after-temporary:2"], lambda: topic.about()["producer"]["port"], zone="z1"
    )
    assert TopicWriter(topic, 4).ended()
    first_end = next(topic.records(ENDS, 0, topic.beyond(ENDS)))
    assert first_end.offset > 0, "what the reader had committed is gone"
