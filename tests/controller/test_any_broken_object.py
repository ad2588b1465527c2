"""Property: whatever is wrong with one object, queries that do not need it have the plans and processes they
had, and new ones start."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.controller.mutations import ODD, mutated, places
from tests.controller.objects import ObjectCluster, manifest, node, object_loop, query, stream
from tests.controller.scenario import settle

STAY = {"strategy": {"name": "greedy"}, "drift": {"minHeadroom": 0, "minGain": 1e9}}
"""Nothing moves only because a broken node looks like a better one."""


def broken_ones() -> list[dict[str, Any]]:
    """An object of each kind that query `b` does not need."""
    mine = {
        "objective": "network-usage",
        "strategy": {"name": "top-down"},
        "hierarchy": {"tierLabel": "tier"},
    }
    taints = [{"key": "pool", "value": "x", "effect": "NoSchedule"}]
    spare = node("n4", tier="edge", zone="z")
    notes = {"weir.dev/egress": "1G", "weir.dev/speed": "1"}
    spare = {**spare, "spec": {"taints": taints}, "metadata": {**spare["metadata"], "annotations": notes}}
    points = [{"name": "noon", "rates": {"s": 20}}]
    streamquery = query("a", "s", "mine")
    more = {"profile": "day", "tolerations": [{"key": "pool", "operator": "Exists"}], "priority": 1}
    streamquery["spec"] |= {**more, "resources": {"cpu": "100m", "memory": "1Gi"}, "labels": {"team": "x"}}
    links = {"default": {"latency": "1ms"}, "links": [{"from": "z", "to": "y", "latency": "2ms"}]}
    return [
        spare,
        stream("s", "n1"),
        manifest("PlacementPolicy", "mine", {**mine, "topology": "far", "exchange": {"retention": "60s"}}),
        manifest("NetworkTopology", "far", {"zoneLabel": "zone", **links}),
        manifest("InputProfile", "day", {"points": points}),
        streamquery,
        elsewhere(
            manifest("ResourceQuota", "quota", {"hard": {"cpu": "100"}}, status={"used": {"cpu": "1"}})
        ),
        elsewhere(manifest("LimitRange", "range", {"limits": [{"type": "Container", "max": {"cpu": "9"}}]})),
    ]


def elsewhere(raw: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "metadata": {**raw["metadata"], "namespace": "other"}}


@cache
def settled() -> ObjectCluster:
    """Queries `a` and `b` run; `b` reads another stream, under another policy."""
    own = [manifest("PlacementPolicy", "default", STAY), stream("t", "n1"), query("b", "t")]
    cluster = ObjectCluster(objects=[*(node(f"n{i}", tier="edge") for i in (1, 2, 3)), *own, *broken_ones()])
    settle(object_loop(cluster))
    assert cluster.of_query("b")
    return cluster


PLACES = [(i, path) for i, raw in enumerate(broken_ones()) for path in places(raw)]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PLACES), st.sampled_from([..., *ODD]))
def test_one_broken_object_leaves_the_others_as_they_are(
    place: tuple[int, tuple[Any, ...]], odd: Any
) -> None:
    cluster = copy.deepcopy(settled())
    plan, processes = cluster.placements["default/b"].spec, cluster.of_query("b")
    number, path = place
    at = len(cluster.objects) - len(broken_ones()) + number
    cluster.objects[at] = mutated(cluster.objects[at], path, odd)
    cluster.objects.append(query("c", "t"))
    loop = object_loop(cluster)
    for _ in range(8):
        loop.once()
    assert cluster.placements["default/b"].spec == plan
    assert cluster.of_query("b") == processes
    assert cluster.of_query("c"), "a new query starts"
