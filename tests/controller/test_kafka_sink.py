"""What a query says of its topic, and what of it is part of its fragments' names."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.api.query import StreamQuerySpec
from weir_operator.controller.desired_state_builder import sink_of
from weir_operator.manifests.objects import from_raw
from weir_operator.manifests.site import Site
from weir_placement.model.fragment import Output

from tests.controller.scenario import query
from tests.manifests.scene import FILTER, graph

TOPIC = {"bootstrapServers": "k:9092", "topic": "t"}


def sink(**options: Any) -> Output:
    spec = StreamQuerySpec.model_validate({"sql": "SELECT 1", "sink": {"kafka": {**TOPIC, **options}}})
    return sink_of(spec, query("q"), Site())


def test_transactions_are_another_plan_and_the_want_of_them_is_none() -> None:
    """A query that was there before the field keeps its name, hence its checkpoint."""
    assert sink().options == {**TOPIC, "format": "json"}
    assert sink(transactional=False) == sink()
    assert sink(transactional=True).options == {**TOPIC, "format": "json", "transactional": True}


@pytest.mark.parametrize("value", ["perhaps", 2])
def test_what_is_neither_true_nor_false_is_refused(value: Any) -> None:
    raw = graph("q", FILTER, sink={"kafka": {**TOPIC, "transactional": value}})
    _, findings = from_raw([raw])
    assert [finding.path for finding in findings] == ["spec.sink.kafka.transactional"]
