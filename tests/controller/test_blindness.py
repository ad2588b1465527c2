"""When more than 55 % of the nodes are silent nothing moves; fewer are left as ever."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_operator.controller.blindness import most_are_silent
from weir_operator.controller.loop import Loop

from tests.controller.objects import ObjectCluster, manifest, node, object_loop, query, stream
from tests.controller.scenario import settle

NODES = [f"n{i}" for i in range(1, 6)]


def scenario() -> tuple[ObjectCluster, Loop]:
    """Five nodes with a query on each."""
    cluster = ObjectCluster(objects=[node(name) for name in NODES])
    cluster.objects.append(
        manifest("PlacementPolicy", "default", {"drift": {"minHeadroom": 0, "minGain": 0}})
    )
    for name in NODES:
        cluster.objects += [stream(f"s-{name}", name), query(f"q-{name}", f"`s-{name}`")]
        cluster.objects[-1]["spec"]["deliverTo"] = {"node": name}
    it = object_loop(cluster)
    settle(it)
    for raw in cluster.objects:
        if raw["kind"] == "StreamQuery":  # rows may be wanted anywhere from now on
            raw["spec"].pop("deliverTo")
    settle(it)
    assert set(cluster.running().values()) == set(NODES)
    return cluster, it


def not_ready(cluster: ObjectCluster, *names: str) -> None:
    """As the node controller says it of nodes whose kubelets it has not heard of."""
    for raw in cluster.objects:
        if raw["kind"] == "Node":
            away = raw["metadata"]["name"] in names
            raw["status"]["conditions"] = [
                {"type": "Ready", "status": "Unknown" if away else "True", "lastTransitionTime": AT}
            ]
    cluster.dead_nodes = frozenset(names)


def placed(cluster: ObjectCluster) -> dict[tuple[str, int], str]:
    return {key: process.planned_node for key, process in cluster.processes.items()}


AT = "1970-01-01T00:16:40Z"


def later(cluster: ObjectCluster, it: Loop, rounds: int = 30) -> None:
    cluster.time += 60.0
    for _ in range(rounds):
        it.once()


def test_two_of_five_nodes_are_left() -> None:
    cluster, it = scenario()
    before = cluster.running().keys()
    not_ready(cluster, "n1", "n2")
    later(cluster, it)
    assert not set(cluster.running().values()) & {"n1", "n2"}
    assert cluster.running().keys() == before
    assert it.last.paused == ""


def test_of_three_of_five_none_is() -> None:
    cluster, it = scenario()
    before = dict(cluster.processes)
    plans = {name: written.spec["revision"] for name, written in cluster.placements.items()}
    not_ready(cluster, "n1", "n2", "n3")
    later(cluster, it)
    assert cluster.processes.keys() == before.keys(), "no successor was started"
    assert {name: written.spec["revision"] for name, written in cluster.placements.items()} == plans
    assert "3 of 5 nodes are silent" in it.last.paused
    cluster.processes.update({key: before[key] for key in before if before[key].node in ("n1", "n2", "n3")})
    not_ready(cluster)
    later(cluster, it)
    assert it.last.paused == ""
    assert cluster.processes.keys() == before.keys()


def test_a_cordon_waits_too_and_a_new_query_starts_where_a_node_answers() -> None:
    cluster, it = scenario()
    before = placed(cluster)
    not_ready(cluster, "n1", "n2", "n3")
    cordoned: dict[str, Any] = next(o for o in cluster.objects if o["metadata"]["name"] == "n4")
    cordoned["spec"]["unschedulable"] = True
    cluster.objects.append(query("new", "`s-n5`"))
    later(cluster, it)
    assert {key: node for key, node in placed(cluster).items() if key in before} == before
    assert set(cluster.of_query("new").values()) == {"n5"}


def test_drivers_that_do_not_renew_make_their_nodes_silent() -> None:
    cluster, it = scenario()
    before = set(cluster.processes)

    def without_renewals(names: set[str]) -> None:
        for key, process in list(cluster.processes.items()):
            if process.node in names:
                cluster.processes[key] = replace(
                    process, state="starting", silent=True, no_room=True, since=cluster.time - 100
                )

    def look(names: set[str]) -> None:
        live = cluster._live
        cluster._live = lambda key: None  # type: ignore[method-assign]
        without_renewals(names)
        it.once()
        cluster._live = live  # type: ignore[method-assign]

    for _ in range(5):
        look({"n1", "n2", "n3", "n4"})
    assert set(cluster.processes) == before
    assert "4 of 5" in it.last.paused


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_rule_of_the_node_controller(silent: int, nodes: int) -> None:
    silent = min(silent, nodes)
    expected = silent > 0 and (silent == nodes or (silent > 2 and silent / nodes > 0.55))
    assert most_are_silent(silent, nodes) == expected


@pytest.mark.parametrize("silent", [1, 2])
def test_few_silent_nodes_are_believed_to_be_so(silent: int) -> None:
    assert not most_are_silent(silent, 3)


def test_a_move_under_way_has_no_deadline_meanwhile() -> None:
    cluster, it = scenario()
    cluster.slow_nodes = frozenset(NODES)
    cordoned = next(o for o in cluster.objects if o["kind"] == "Node" and o["metadata"]["name"] == "n1")
    cordoned["spec"] = {"unschedulable": True}
    for _ in range(3):
        it.once()
    plans = {name: written.spec["revision"] for name, written in cluster.placements.items()}
    assert max(plans.values()) == 2
    not_ready(cluster, "n3", "n4", "n5")
    cluster.time += 600.0
    later(cluster, it, 5)
    assert it.last.paused
    assert {name: written.spec["revision"] for name, written in cluster.placements.items()} == plans
    assert not {event.reason for event in cluster.events} & {"MoveOverdue", "MoveAborted"}
