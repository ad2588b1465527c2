"""A query whose stream does not say where its rows are is told so; the same is enough to plan by."""

from __future__ import annotations

from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings
from weir_placement.fragments import Layout

from tests.manifests.scene import NODES, obj, stream


def test_the_reason_names_the_stream_and_its_field() -> None:
    query = obj("StreamQuery", "q", {"sql": "SELECT a.x FROM a"}, "default")
    observed = ObservedState(now=0.0, objects=(*NODES, stream("a"), query))
    fault = DesiredStateBuilder()(observed, Settings(layout=Layout("/flows"))).faults["default/q"]
    assert fault.message == "not planned: Stream default/a has no spec.source; write where its rows are"
