"""A proposal is told when its placement is another one, not when a measured number is."""

from __future__ import annotations

from typing import Literal

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.group_replan import GroupReplan
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.record import Record
from weir_operator.controller.settings import Settings
from weir_placement.model.plan import QueryPlan

from tests.controller.scenario import LAYOUT, one_query


@pytest.mark.parametrize("mode", ["Shadow", "Manual"])
def test_a_gain_that_changes_is_no_news(mode: Literal["Shadow", "Manual"]) -> None:
    scenario = one_query()
    scenario.policy = PlacementPolicySpec(mode=mode)
    state: DesiredState = scenario.desired_state(ObservedState(0.0, ()), Settings(LAYOUT))
    (group,) = state.groups
    query = group.queries["default/q"].model
    planning = GroupReplan(group, state, 0.0, {"default/q": Record("default/q")}, {}, {})

    def propose(node: str, gain: float) -> Record:
        plan = QueryPlan(query, dict.fromkeys(("f", "p"), node), {"s": "n1"})
        why = f"headroom {gain} before"
        assert not planning.adopt_or_propose("default/q", plan, frozenset("p"), why, gain, "x")
        return planning.records["default/q"]

    first = propose("n1", 1.5)
    assert propose("n1", 1.7) == first
    assert len(planning.events) == 1
    assert propose("n2", 1.7) != first
    assert len(planning.events) == 2
