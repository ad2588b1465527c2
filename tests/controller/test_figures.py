"""The figures in a query's status: of the plan in force, and written only when they say something new."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_operator.controller.report import statuses

from tests.controller.scenario import FakeCluster, Scenario, desired, loop, query, settle
from tests.controller.test_definitions import round_state


def test_the_latency_is_that_of_the_plan_in_force() -> None:
    cluster = FakeCluster()
    settle(loop(Scenario({"default/q": desired(query("q", nodes=("n2",)))}), cluster))
    status = cluster.statuses["default/q"]
    assert status["nodes"] == "n2"
    assert status["latencySeconds"] == 0.00212, (
        "a link of 1 ms from n1, and 1000 and 10 us of operators on a node used to 10 %"
    )


@pytest.mark.parametrize(("now", "revision", "binding"), [(30.0, 1, "n1"), (60.0, 1, "n2"), (30.0, 2, "n2")])
def test_what_limits_the_headroom_is_reported_again_with_another_plan_or_when_numbers_are(
    now: float, revision: int, binding: str
) -> None:
    state = round_state([], {"default/q": desired(query("q"))}, now=now)
    state.records["default/q"] = replace(state.records["default/q"], revision=revision)
    state.numbers["default/q"] = {"headroom": 2.0, "binding": "n2"}
    state.desired = replace(state.desired, statuses={"default/q": {"revision": 1, "binding": "n1"}})
    (write,) = statuses(state)
    assert write.status["binding"] == binding
