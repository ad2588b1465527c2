"""Property: whatever any object on the API server holds, no round ends because of it, and queries of other
namespaces have the plans and pods they had. A tenant may write what carries Weir's labels."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weir_operator.kube import names

from tests.controller.mutations import ODD, mutated, places
from tests.kube.kube_scenario import KubeScenario, config_map, node, plain, policy, query, stream, topology
from tests.kube.memory import Manifest

STAY = {"drift": {"minHeadroom": 0, "minGain": 1e9}, "strategy": {"name": "greedy"}}
NODES = ("n1", "n2", "n3")


@cache
def settled() -> KubeScenario:
    """Query `a/q` has everything that there is to break; `b/r` has its own policy and stream."""
    far = {"topology": "far", "allowedNamespaces": ["a"], **STAY}
    scenario = KubeScenario(
        *(node(name) for name in NODES),
        node("spare", taint="pool", zone="z"),
        policy("default", **STAY),
        policy("mine", **far),
        topology("far", "rtt", NODES),
        config_map("rtt", len(NODES)),
        plain("InputProfile", "a", "day", spec={"points": [{"name": "noon", "rates": {"s": 20}}]}),
        plain("ResourceQuota", "a", "quota", spec={"hard": {"cpu": "100"}}, status={"used": {"cpu": "1"}}),
        plain("LimitRange", "a", "range", spec={"limits": [{"type": "Container", "max": {"cpu": "9"}}]}),
        stream("a", "s", "n1"),
        query(
            "a", "q", "s", policy="mine", profile="day", tolerations=[{"key": "pool", "operator": "Exists"}]
        ),
        stream("b", "t", "n2"),
        query("b", "r", "t"),
    )
    scenario.settle()
    drivers = scenario.of("Pod", "a")
    assert drivers
    assert scenario.of("Pod", "b")
    for pod in (*companions(next(iter(drivers.values()))), handed_over(scenario)):
        scenario.memory.put(pod)
    scenario.round()
    return scenario


def companions(driver: Manifest) -> list[Manifest]:
    """An executor of the driver, a sweep that runs, and a pod that is none of Weir's."""
    container = {"name": "x", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}
    spec = {
        "nodeName": "n3",
        "containers": [container],
        "initContainers": [{**container, "restartPolicy": "Always"}],
        "overhead": {"cpu": "1m"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
    }
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    owner = {"kind": "Pod", "apiVersion": "v1", "name": driver["metadata"]["name"]}
    executor = plain("Pod", "a", "x-exec-1", spec=spec, status=running)
    executor["metadata"] |= {
        "labels": {**driver["metadata"]["labels"], names.ROLE: "executor"},
        "ownerReferences": [{**owner, "uid": driver["metadata"]["uid"]}],
    }
    sweep = plain(
        "Pod", "a", "weir-sweep", spec={"containers": [{**container, "args": ["a"]}]}, status=running
    )
    sweep["metadata"]["labels"] = {names.MANAGED_BY: "weir", names.ROLE: "sweep"}
    return [executor, sweep, plain("Pod", "a", "foreign", spec=spec, status=running)]


def handed_over(scenario: KubeScenario) -> Manifest:
    """A Lease that is handed over and asked for a cut."""
    lease = next(iter(scenario.of("Lease", "a").values()))
    notes = {names.HANDOVER: "1", names.RELEASED: "false", names.CHANGE: '{"lead": 20.0, "time": 7}'}
    return {**lease, "metadata": {**lease["metadata"], "annotations": notes}}


def breakable() -> list[tuple[tuple[str, str, str], tuple[Any, ...]]]:
    """All places of all objects that are not needed by `b/r`."""
    needed = [("Node", "", name) for name in NODES] + [("PlacementPolicy", "", "default")]
    objects = settled().memory.objects
    mine = [key for key in objects if key[1] != "b" and key not in needed and key[0] != "Event"]
    labels = ("metadata", "labels")  # a map, by which the API server selects
    return [(key, path) for key in mine for path in places(objects[key]) if path != labels]


NESTED = "[" * 100_000
MEAN: list[Any] = [*ODD, "9" * 5000, NESTED, "1970-01-01", "b/r", "-1.5", '{"lead": 1e999}', "²", [[[]]]]


def broken(key: tuple[str, str, str], path: tuple[Any, ...], odd: Any) -> KubeScenario:
    """The settled scenario with another value at one place, and a new query."""
    scenario = KubeScenario(memory=copy.deepcopy(settled().memory))
    scenario.now = settled().now
    stored = scenario.memory.objects
    scenario.memory.put(mutated(stored[key], path, odd))
    for manifest in (stream("c", "u", "n1"), query("c", "new", "u")):
        scenario.memory.put(manifest)
    return scenario


def plan_and_pods(scenario: KubeScenario) -> tuple[Any, dict[str, Any]]:
    pods = {name: (p["metadata"]["uid"], p["spec"]) for name, p in scenario.of("Pod", "b").items()}
    return scenario.of("Placement", "b")["r"]["spec"], pods


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.deferred(lambda: st.sampled_from(breakable())), st.sampled_from([..., *MEAN]))
def test_one_broken_object_ends_no_round_and_leaves_other_namespaces_as_they_are(
    place: tuple[tuple[str, str, str], tuple[Any, ...]], odd: Any
) -> None:
    scenario = broken(*place, odd)
    scenario.settle(5)
    assert plan_and_pods(scenario) == plan_and_pods(settled())
    assert scenario.of("Pod", "c"), "a new query starts"
