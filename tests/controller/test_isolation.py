"""Which fragments share a process: the policy says whether they may, a query whether it does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.api.query import StreamQuerySpec
from weir_operator.controller.decision import Action, Start
from weir_placement.model.fragment import Output

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, desired, loop, query, settle


@dataclass
class Starts(FakeCluster):
    """Remembers them."""

    starts: list[Start] = field(default_factory=list)

    def apply(self, action: Action) -> None:
        if isinstance(action, Start):
            self.starts.append(action)
        super().apply(action)


def scenario(isolation: str, **changes: Any) -> Scenario:
    it = Scenario({"default/q": desired(query("q"), **changes)})
    it.policy = PlacementPolicySpec.model_validate({"fragments": {"isolation": isolation}})
    return it


def started(it: Scenario) -> list[Start]:
    cluster = Starts()
    settle(loop(it, cluster))
    return cluster.starts


def shared(it: Scenario) -> set[bool]:
    return {start.shared for start in started(it)}


def test_fragments_share_a_process_where_the_policy_says_so_and_not_by_default() -> None:
    assert shared(scenario("Shared")) == {True}
    assert shared(scenario("Dedicated")) == {False}
    assert PlacementPolicySpec().fragments.isolation == "Dedicated"


def test_a_query_may_ask_for_processes_of_its_own_and_for_nothing_else() -> None:
    assert shared(scenario("Shared", dedicated=True)) == {False}
    assert (
        StreamQuerySpec.model_validate({"sql": "SELECT 1", "isolation": "Dedicated"}).isolation == "Dedicated"
    )
    with pytest.raises(ValueError, match="isolation"):
        StreamQuerySpec.model_validate({"sql": "SELECT 1", "isolation": "Shared"})


def test_rows_for_the_terminal_come_from_a_process_of_its_own() -> None:
    it = scenario("Shared")
    own = it.queries["default/q"]
    it.queries["default/q"] = desired(query("q"), ends=type(own.ends)(own.ends.sources, Output("console")))
    assert {(start.spec.output.kind, start.shared) for start in started(it)} == {
        ("console", False),
        ("exchange", True),
    }


def test_an_edit_to_processes_of_its_own_replaces_what_runs_in_place() -> None:
    it, cluster = scenario("Shared"), Starts()
    the_loop = loop(it, cluster)
    settle(the_loop)
    nodes = cluster.running()
    it.queries["default/q"] = desired(query("q"), dedicated=True, generation=2)
    settle(the_loop)
    assert cluster.running() == nodes
    assert [start.shared for start in cluster.starts] == [True] * len(nodes) + [False] * len(nodes)
