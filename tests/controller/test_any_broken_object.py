"""Property: whatever is wrong with one object, queries that do not need it have the plans and processes they
had, and new ones start."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.controller.objects import ObjectCluster, manifest, node, object_loop, query, stream
from tests.controller.scenario import settle

STAY = {"strategy": {"name": "greedy"}, "drift": {"minHeadroom": 0, "minGain": 1e9}}
"""Nothing moves only because a broken node looks like a better one."""

ODD: list[Any] = [
    None, "", " ", "x" * 300, "a/\n", "7", "-1", "1e400", "NaN", "10Gi", "{}", "default", 0, -1, 2**63,
    10**400, 1e308, True, False, [], [None], ["x"], [{}], {}, {"": ""}, {"x": None}, {"x": {"y": []}},
]  # fmt: skip


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
    asked = query("a", "s", "mine")
    more = {"profile": "day", "tolerations": [{"key": "pool", "operator": "Exists"}], "priority": 1}
    asked["spec"] |= {**more, "resources": {"cpu": "100m", "memory": "1Gi"}, "labels": {"team": "x"}}
    zones = {"zones": [{"a": "z", "b": "z", "rtt": "1ms"}]}
    return [
        spare,
        stream("s", "n1"),
        manifest("PlacementPolicy", "mine", {**mine, "topology": "far", "exchange": {"retention": "60s"}}),
        manifest("NetworkTopology", "far", {"zoneLabel": "zone", **zones}),
        manifest("InputProfile", "day", {"points": points}),
        asked,
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


IDENTITY = [("metadata",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid")]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all that an object holds; kind and identity stay: a ghost of `b` would be `b` edited."""
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        below = (*path, key)
        if below[0] not in ("kind", "apiVersion") and below not in IDENTITY:
            yield below
        yield from places(inner, below)


PLACES = [(i, path) for i, raw in enumerate(broken_ones()) for path in places(raw)]


def mutated(raw: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The object with another value at a path; without that field for `...`."""
    (key, *rest), changed = path, copy.copy(raw)
    if rest:
        changed[key] = mutated(raw[key], tuple(rest), value)
    elif value is ...:
        del changed[key]
    else:
        changed[key] = value
    return changed


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
