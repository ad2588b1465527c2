"""One broken object: the queries that need it say why and stay as they are, all others go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.controller.objects import ObjectCluster, manifest, node, object_loop, query, stream
from tests.controller.scenario import settle


def scenario() -> list[dict[str, Any]]:
    """Query `a` of policy `mine`, whose strategy is hierarchical by tiers; `b` of the default policy."""
    spec = {
        "objective": "network-usage",
        "strategy": {"name": "top-down"},
        "hierarchy": {"tierLabel": "tier"},
    }
    return [
        *(node(name, tier="edge") for name in ("n1", "n2", "n3")),
        stream("s", "n1"),
        manifest("PlacementPolicy", "mine", spec),
        query("a", "s", "mine"),
        query("b", "s"),
    ]


def without_tier(cluster: ObjectCluster) -> None:
    cluster.objects.append(node("n4"))


def parameters(cluster: ObjectCluster) -> None:
    policy(cluster, {"strategy": {"name": "annealing", "parameters": {"coolnig": "0.9"}}})


def value(cluster: ObjectCluster) -> None:
    policy(cluster, {"strategy": {"name": "annealing", "parameters": {"cooling": "fast"}}})


def objective(cluster: ObjectCluster) -> None:
    policy(cluster, {"strategy": {"name": "greedy"}, "objective": "network-usage"})


def removed_objective(cluster: ObjectCluster) -> None:
    """A name that earlier versions took, though no strategy planned for it."""
    policy(cluster, {"objective": "join-cost"})


def policy(cluster: ObjectCluster, spec: dict[str, Any]) -> None:
    cluster.objects[4] = manifest("PlacementPolicy", "mine", spec)


@pytest.mark.parametrize(
    "break_it", [without_tier, parameters, value, objective, removed_objective], ids=lambda f: f.__name__
)
def test_a_policy_that_cannot_be_planned_by_stops_only_its_own_queries(
    break_it: Callable[[ObjectCluster], None],
) -> None:
    cluster = ObjectCluster(objects=scenario())
    it = object_loop(cluster)
    settle(it)
    before = cluster.of_query("a")
    assert before
    break_it(cluster)
    cluster.objects[5]["spec"]["sql"] = "SELECT s.k FROM s WHERE s.k > 7"
    cluster.objects.append(query("c", "s"))
    settle(it)
    assert cluster.of_query("a") == before
    assert cluster.condition("a", "Stalled")["status"] == "True"
    assert cluster.condition("a", "Stalled")["message"]
    assert cluster.condition("c", "Ready")["status"] == "True"
    assert cluster.condition("b", "Ready")["status"] == "True"


def test_a_mistyped_column_is_an_event_once_for_each_edit() -> None:
    cluster = ObjectCluster(objects=scenario())
    it = object_loop(cluster)
    settle(it)
    cluster.objects[5]["spec"]["sql"] = "SELECT s.kk FROM s"
    cluster.objects[5]["metadata"]["generation"] = 2
    for _ in range(4):
        it.once()
    (event,) = [e for e in cluster.events if e.reason == "Invalid"]
    assert (event.query, event.warning) == ("default/a", True)
    assert "s.kk" in event.message
    cluster.objects[5]["metadata"]["generation"] = 3
    for _ in range(4):
        it.once()
    assert len([e for e in cluster.events if e.reason == "Invalid"]) == 2
