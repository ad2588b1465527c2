"""Streams of other namespaces are read if they are shared (withdrawn: tests/controller/test_in_force.py)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.loop import Loop
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import LAYOUT, condition, loop
from tests.manifests.scene import FILTER, NODES, graph, obj, stream

KAFKA = {"kafka": {"bootstrapServers": "kafka:9092", "topic": "bids"}}


def bids(*shared_with: str) -> dict[str, Any]:
    return stream("bids", "shop", source=KAFKA, sharedWith=list(shared_with), rate=10)


def by_sql() -> dict[str, Any]:
    return obj("StreamQuery", "q", {"sql": "SELECT b.x FROM shop.bids b WHERE b.x > 1"})


def by_graph() -> dict[str, Any]:
    operator = {**FILTER, "inputs": ["shop.bids"], "predicate": "bids.x = 0"}
    return graph("q", operator)


@dataclass
class Raw:
    """What the loop reads its state from."""

    objects: list[dict[str, Any]] = field(default_factory=list)

    def desired_state(self, observed: ObservedState, settings: Settings) -> DesiredState:
        return DesiredStateBuilder()(replace(observed, objects=tuple(self.objects)), settings)


def rounds(it: Loop) -> None:
    for _ in range(10):
        it.once()


@pytest.mark.parametrize("shared_with", [("default",), ("other", "*")])
@pytest.mark.parametrize("query", [by_sql, by_graph])
def test_a_shared_stream_is_read_from_where_it_is(query: Any, shared_with: tuple[str, ...]) -> None:
    raw = Raw([*NODES, bids(*shared_with), query()])
    state = raw.desired_state(ObservedState(1000.0, ()), Settings(LAYOUT))
    assert state.faults == {}
    query = state.groups[0].queries["default/q"]
    (alias,) = query.model.sources
    assert query.model.sources[alias] == "shop/bids"
    assert query.ends.sources[alias]["kafka"]["topic"] == "bids"


@pytest.mark.parametrize("query", [by_sql, by_graph])
def test_one_that_is_not_shared_is_refused(query: Any) -> None:
    raw, cluster = Raw([*NODES, bids("other"), query()]), FakeCluster()
    rounds(loop(raw, cluster))  # type: ignore[arg-type]
    assert cluster.processes == {}
    assert condition(cluster, "q", "Stalled") == "True"
    (ready,) = [c for c in cluster.statuses["default/q"]["conditions"] if c["type"] == "Ready"]
    assert "stream shop.bids is not shared with namespace default" in ready["message"]
