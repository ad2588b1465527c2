"""The plans of queries that cannot be planned now are repaired, moved from lost nodes, and suspended."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controller.objects import ObjectCluster, manifest, node, object_loop, query, stream
from tests.controller.scenario import settle

GREEDY = {"strategy": {"name": "greedy"}, "drift": {"minHeadroom": 0, "minGain": 1e9}}


def running(*more: dict[str, Any], spec: dict[str, Any] | None = None) -> ObjectCluster:
    """Query `q` of policy `mine` runs."""
    own = query("q", "s", "mine")
    own["spec"] |= spec or {}
    if "operators" in own["spec"]:
        del own["spec"]["sql"]
    nodes = [node(f"n{i}") for i in (1, 2, 3)]
    objects = [*nodes, stream("s", "n1"), manifest("PlacementPolicy", "mine", GREEDY), own, *more]
    cluster = ObjectCluster(objects=objects)
    settle(object_loop(cluster))
    assert cluster.of_query("q")
    return cluster


def put(cluster: ObjectCluster, kind: str, name: str, **spec: Any) -> None:
    """Another value for fields of an object's spec."""
    old = next(o for o in cluster.objects if o["kind"] == kind and o["metadata"]["name"] == name)
    meta = {**old["metadata"], "generation": old["metadata"]["generation"] + 1}
    cluster.objects[cluster.objects.index(old)] = {
        **old,
        "metadata": meta,
        "spec": {**old["spec"], **spec},
    }


def lose(cluster: ObjectCluster, name: str) -> None:
    """The node is deleted, and what ran on it answers no more."""
    cluster.objects = [o for o in cluster.objects if (o["kind"], o["metadata"]["name"]) != ("Node", name)]
    cluster.dead_nodes |= {name}


def rounds(cluster: ObjectCluster, count: int = 20) -> None:
    loop = object_loop(cluster)
    for _ in range(count):
        loop.once()


def nodes_of(cluster: ObjectCluster) -> set[str]:
    """Where processes of `q` run."""
    return {p.node for p in cluster.processes.values() if p.state == "running"}


def mistyped_query(cluster: ObjectCluster) -> None:
    put(cluster, "StreamQuery", "q", sql="SELECT s.nothing FROM s")


def strange_query(cluster: ObjectCluster) -> None:
    put(cluster, "StreamQuery", "q", sql=7)


def mistyped_policy(cluster: ObjectCluster) -> None:
    put(cluster, "PlacementPolicy", "mine", strategy={"name": "gredy"})


def strange_policy(cluster: ObjectCluster) -> None:
    put(cluster, "PlacementPolicy", "mine", reserve=7)


def mistyped_stream(cluster: ObjectCluster) -> None:
    put(cluster, "Stream", "s", schema="k")


def deleted_stream(cluster: ObjectCluster) -> None:
    cluster.objects = [o for o in cluster.objects if o["kind"] != "Stream"]


ALL = [mistyped_query, strange_query, mistyped_policy, strange_policy, mistyped_stream, deleted_stream]


@pytest.mark.parametrize("spoil", ALL, ids=lambda f: f.__name__)
def test_a_process_that_is_gone_is_started_again_where_it_was(spoil: Any) -> None:
    cluster = running()
    before = {fragment: at for (fragment, _), at in cluster.of_query("q").items()}
    spoil(cluster)
    rounds(cluster, 3)
    assert {fragment: at for (fragment, _), at in cluster.of_query("q").items()} == before
    for key in cluster.of_query("q"):
        del cluster.processes[key]
    rounds(cluster)
    assert {fragment: at for (fragment, _), at in cluster.of_query("q").items()} == before
    assert nodes_of(cluster) == set(before.values())
    assert cluster.placements["default/q"].spec["revision"] == 1


@pytest.mark.parametrize("spoil", [f for f in ALL if f is not strange_policy], ids=lambda f: f.__name__)
def test_it_moves_from_a_lost_node(spoil: Any) -> None:
    cluster = running()
    lost = min(nodes_of(cluster) - {"n1"}, default="n1")
    spoil(cluster)
    lose(cluster, lost)
    rounds(cluster, 40)
    assert nodes_of(cluster)
    assert lost not in nodes_of(cluster)
    record = cluster.placements["default/q"].spec
    assert record["revision"] == 2
    assert lost not in {fragment["node"] for fragment in record["fragments"]}


def test_then_it_is_planned_anew_when_it_is_mended() -> None:
    cluster = running()
    fragments = {fragment for fragment, _ in cluster.of_query("q")}
    put(cluster, "StreamQuery", "q", sql="SELECT s.nothing FROM s")
    lost = min(nodes_of(cluster) - {"n1"}, default="n1")
    lose(cluster, lost)
    rounds(cluster, 40)
    put(cluster, "StreamQuery", "q", sql="SELECT s.k FROM s AS s WHERE s.k > 1")
    rounds(cluster)
    assert cluster.placements["default/q"].spec["revision"] == 2, "the same version: nothing is new"
    assert {fragment for fragment, _ in cluster.of_query("q")} == fragments
    assert cluster.condition("q", "Ready")["status"] == "True"


@pytest.mark.parametrize("spoil", ALL, ids=lambda f: f.__name__)
def test_it_obeys_suspend(spoil: Any) -> None:
    cluster = running()
    leases = dict(cluster.leases)
    spoil(cluster)
    put(cluster, "StreamQuery", "q", suspend=True)
    rounds(cluster)
    assert not cluster.of_query("q")
    assert cluster.leases.keys() == leases.keys(), "checkpoints stay"
    put(cluster, "StreamQuery", "q", suspend=False)
    rounds(cluster)
    assert cluster.of_query("q")


def test_a_deleted_node_in_a_list_does_not_end_failover() -> None:
    operators = [
        {"id": "f", "kind": "filter", "inputs": ["s"], "predicate": "s.k > 1", "nodes": ["n2", "n3"]}
    ]
    cluster = running(spec={"operators": operators})
    (lost,) = nodes_of(cluster)
    lose(cluster, lost)
    rounds(cluster, 40)
    assert nodes_of(cluster) == {"n2", "n3"} - {lost}


def test_an_edit_that_has_no_room_does_not_become_what_runs() -> None:
    """The node is lost while the edit waits: the plan in force moves, and stays that of its own version."""
    cluster = running()
    source = cluster.placements["default/q"].spec["plan"]["source"]
    put(cluster, "StreamQuery", "q", sql="SELECT s.k FROM s WHERE s.k > 2", maxLatency="1us")
    put(cluster, "StreamQuery", "q", deliverTo={"node": "n3"})
    lost = min(nodes_of(cluster) - {"n1"}, default="n1")
    lose(cluster, lost)
    rounds(cluster, 40)
    record = cluster.placements["default/q"].spec
    assert record["plan"]["source"] == source
    assert nodes_of(cluster)
    assert lost not in nodes_of(cluster)


def shared(*namespaces: str) -> dict[str, Any]:
    raw = stream("t", "n1")
    meta = {**raw["metadata"], "namespace": "owner"}
    return {**raw, "metadata": meta, "spec": {**raw["spec"], "sharedWith": list(namespaces)}}


def test_a_stream_that_is_shared_no_more_is_not_read() -> None:
    cluster = running(shared("default"), spec={"sql": "SELECT t.k FROM owner.t AS t WHERE t.k > 1"})
    put(cluster, "Stream", "t", sharedWith=["other"])
    rounds(cluster)
    assert not cluster.of_query("q")
    put(cluster, "Stream", "t", sharedWith=["default"])
    settle(object_loop(cluster))
    assert cluster.condition("q", "Ready")["status"] == "True"


def test_an_edit_that_may_not_read_a_stream_leaves_what_runs() -> None:
    cluster = running(shared("other"))
    before = cluster.of_query("q")
    put(cluster, "StreamQuery", "q", sql="SELECT t.k FROM owner.t AS t WHERE t.k > 1")
    rounds(cluster)
    assert cluster.of_query("q") == before


@pytest.mark.parametrize("allocatable", [{"cpu": "many", "memory": "8Gi"}, 7, {"memory": "8Gi"}], ids=str)
def test_a_node_that_cannot_be_read_is_not_lost(allocatable: Any) -> None:
    cluster = running()
    before = cluster.of_query("q")
    for raw in [o for o in cluster.objects if o["kind"] == "Node"]:
        status = {**raw["status"], "allocatable": allocatable}
        cluster.objects[cluster.objects.index(raw)] = {**raw, "status": status}
    rounds(cluster, 45)
    assert cluster.of_query("q") == before
    assert cluster.placements["default/q"].spec["revision"] == 1
