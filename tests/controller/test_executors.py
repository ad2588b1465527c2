"""Executors of a query, as the controller understands them: in the plan, in the fragments, as an edit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from weir_operator.controller.decision import Action, Protect, Start
from weir_operator.controller.settings import Settings
from weir_operator.controller.snapshot import Snapshot
from weir_operator.controller.understand import Understand
from weir_operator.controller.world import Asked
from weir_placement.fragments import Knobs, Layout

from tests.controller.fake_cluster import FakeCluster
from tests.controller.world import loop, one_query, settle
from tests.manifests.scene import NODES, STREAMS, obj


def understood(executors: int, pods: bool = True, **said: Any) -> Asked:
    streams = [s | {"spec": s["spec"] | {"source": {"rate": {}}}} for s in STREAMS]
    query = obj(
        "StreamQuery", "q", {"sql": "SELECT a.x FROM a", "resources": {"executors": executors}, **said}
    )
    query["metadata"]["uid"] = "1"
    snapshot = Snapshot(0.0, (*NODES, *streams, query))
    world = Understand(executors=pods)(snapshot, Settings(Layout("/d")))
    return world.groups[0].queries["default/q"]


@pytest.mark.parametrize(
    "said",
    [
        {"env": [{"name": "LEVEL", "value": "1"}]},
        {"labels": {"team": "a"}},
        {"tolerations": [{"key": "pool", "operator": "Exists"}]},
        {"resources": {"cpu": "500m"}},
        {"resources": {"memory": "1Gi"}},
    ],
    ids=str,
)
def test_what_pods_have_of_the_query_is_told_apart_from_what_its_rows_depend_on(said: dict[str, Any]) -> None:
    before, after = understood(0), understood(0, **said)
    assert before.pods == "", "so that queries that say nothing keep their processes"
    assert after.pods
    assert after.source == before.source


def test_executors_are_told_with_the_plan() -> None:
    assert understood(2).pods == ""
    assert (
        understood(2, resources={"executors": 2, "cpu": "1"}).pods
        == understood(0, resources={"cpu": "1"}).pods
    )


def test_a_plan_counts_every_process_and_its_fragments_are_told() -> None:
    asked = understood(2)
    assert asked.query.processes == 3
    assert asked.ends.knobs.executors == 2


def test_another_number_of_them_is_an_edit() -> None:
    assert len({understood(n).source for n in (0, 1, 2)}) == 3


def test_the_budget_is_told_of_them() -> None:
    actions: list[Action] = []

    class Listening(FakeCluster):
        def apply(self, action: Action) -> None:
            actions.append(action)
            super().apply(action)

    cluster, town = Listening(), one_query()
    one = town.queries["default/q"]
    town.queries["default/q"] = replace(one, ends=replace(one.ends, knobs=Knobs(executors=2)))
    settle(loop(town, cluster))
    assert {entry["executors"] for entry in cluster.placements["default/q"].status["running"]} == {"0/2"}
    started = {a.spec.executors for a in actions if isinstance(a, Start)}
    kept = {a.executors for a in actions if isinstance(a, Protect)}
    assert (started, kept) == ({2}, {2})


def test_on_one_machine_there_are_none() -> None:
    asked = understood(2, pods=False)
    assert (asked.query.processes, asked.ends.knobs.executors) == (1, 0)
    assert asked.source == understood(0).source
