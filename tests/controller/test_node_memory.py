"""Nodes that have less memory than a fragment requests: nothing of the query goes there or stays there."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings
from weir_placement.cost.allowed import impossible
from weir_placement.fragments import Layout

from tests.controller.test_taints import manifest

STREAM = {
    "schema": "k BIGINT, ts TIMESTAMP",
    "eventTime": {"column": "ts", "watermark": "1s"},
    "source": {"files": {"uri": "/in", "format": "arrow"}},
    "origin": {"node": "small"},
    "rate": 10,
}


def built(**resources: Any) -> DesiredState:
    """A query with these resources, a node of 8 GiB and one of 16 GiB."""
    query = {"sql": "SELECT s.k FROM s WHERE s.k > 1", "resources": resources}
    nodes = [
        manifest("Node", name, {}, status={"allocatable": {"cpu": "2", "memory": memory}})
        for name, memory in (("small", "8Gi"), ("large", "16Gi"))
    ]
    objects = (*nodes, manifest("Stream", "s", STREAM), manifest("StreamQuery", "q", query))
    return DesiredStateBuilder()(ObservedState(1000.0, objects), Settings(Layout("/data")))


@pytest.mark.parametrize(
    ("resources", "left"),
    [({}, set()), ({"memory": "8Gi"}, set()), ({"memory": "9Gi"}, {"small"}), ({"executors": 7}, {"small"})],
    ids=str,
)
def test_a_query_leaves_nodes_that_are_too_small_for_a_fragment(
    resources: dict[str, Any], left: set[str]
) -> None:
    """As after an edit of its resources, which makes no new plan."""
    state = built(**resources)
    assert state.nodes_to_leave("default/q") == left
    (group,) = state.groups
    (query,) = group.problem.queries
    assert set(query.operators[0].nodes) == ({"large"} if left else set())


def test_a_query_whose_fragments_fit_on_no_node_is_refused_in_words() -> None:
    (group,) = built(memory="900Gi").groups
    (query,) = group.problem.queries
    why = impossible(group.problem, query)
    assert "900Gi" in why
    assert "write at most 16Gi into spec.resources.memory" in why
