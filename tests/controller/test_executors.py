"""Executors of a query: in the plan, in the fragments, as an edit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from weir_operator.controller.decision import Action, Protect, Start
from weir_operator.controller.desired_state import DesiredQuery
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings
from weir_placement.fragments import Knobs, Layout

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import loop, one_query, settle
from tests.manifests.scene import NODES, STREAMS, obj


def built(executors: int, pods: bool = True, **fields: Any) -> DesiredQuery:
    streams = [s | {"spec": s["spec"] | {"source": {"rate": {}}}} for s in STREAMS]
    query = obj(
        "StreamQuery", "q", {"sql": "SELECT a.x FROM a", "resources": {"executors": executors}, **fields}
    )
    query["metadata"]["uid"] = "1"
    snapshot = ObservedState(0.0, (*NODES, *streams, query))
    state = DesiredStateBuilder(executors=pods)(snapshot, Settings(Layout("/d")))
    return state.groups[0].queries["default/q"]


@pytest.mark.parametrize(
    "fields",
    [
        {"env": [{"name": "LEVEL", "value": "1"}]},
        {"labels": {"team": "a"}},
        {"tolerations": [{"key": "pool", "operator": "Exists"}]},
        {"resources": {"cpu": "500m"}},
        {"resources": {"memory": "1Gi"}},
    ],
    ids=str,
)
def test_what_pods_have_of_the_query_is_told_apart_from_what_its_rows_depend_on(
    fields: dict[str, Any],
) -> None:
    before, after = built(0), built(0, **fields)
    assert before.pods == "", "so that queries that say nothing keep their processes"
    assert after.pods
    assert after.source == before.source


def test_executors_are_told_with_the_plan() -> None:
    assert built(2).pods == ""
    assert built(2, resources={"executors": 2, "cpu": "1"}).pods == built(0, resources={"cpu": "1"}).pods


def test_a_plan_counts_every_process_and_its_fragments_are_told() -> None:
    query = built(2)
    assert query.model.processes == 3
    assert query.ends.knobs.executors == 2


def test_another_number_of_them_is_an_edit() -> None:
    assert len({built(n).source for n in (0, 1, 2)}) == 3


def test_the_budget_is_told_of_them() -> None:
    actions: list[Action] = []

    class Listening(FakeCluster):
        def apply(self, action: Action) -> None:
            actions.append(action)
            super().apply(action)

    cluster, scenario = Listening(), one_query()
    one = scenario.queries["default/q"]
    scenario.queries["default/q"] = replace(one, ends=replace(one.ends, knobs=Knobs(executors=2)))
    settle(loop(scenario, cluster))
    assert {entry["executors"] for entry in cluster.placements["default/q"].status["running"]} == {"0/2"}
    started = {a.spec.executors for a in actions if isinstance(a, Start)}
    protected = {a.executors for a in actions if isinstance(a, Protect)}
    assert (started, protected) == ({2}, {2})


def test_on_one_machine_there_are_none() -> None:
    query = built(2, pods=False)
    assert (query.model.processes, query.ends.knobs.executors) == (1, 0)
    assert query.source == built(0).source
