"""Fragments in hosts, as the whole operator brings them there, moves them and takes them away."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from weir_operator.controller.times import timestamp
from weir_operator.kube import names
from weir_operator.kube.hosted_process import read_hosted
from weir_operator.kube.hosts import IDLE_SECONDS

from tests.kube.host_pods import HostPods
from tests.kube.kube_scenario import KubeScenario, node, policy, query, stream
from tests.kube.memory import Manifest

QUICK: dict[str, Any] = {
    "strategy": {"name": "greedy"},
    "cooldown": "0s",
    "drift": {"minHeadroom": 0, "minGain": 1000, "hold": "0s"},
    "fragments": {"isolation": "Shared"},
}


class HostScenario(KubeScenario):
    """Queries that read one stream each, on n1."""

    def __init__(self, queries: str = "abc", nodes: tuple[str, ...] = ("n1", "n2", "n3")) -> None:
        objects = [node(name) for name in nodes] + [policy("default", **QUICK)]
        objects += [stream("team", f"s{name}", "n1") for name in queries]
        objects += [query("team", name, f"s{name}") for name in queries]
        super().__init__(*objects, hosts=True)
        self.hosts = HostPods(self.memory)
        self.slow: set[str] = set()  # names of pods that take their time to end

    def round(self) -> None:
        super().round()
        self.hosts.step(self.now)

    def _end(self, pod: Manifest) -> None:
        if pod["metadata"]["name"] not in self.slow:
            super()._end(pod)

    def _renew(self, lease: Manifest, epoch: int, pod: str) -> None:
        """A driver takes a lease that was handed to it once it is released, and makes way for the next."""
        notes = lease["metadata"].get("annotations") or {}
        if int(notes.get(names.HANDOVER, 0)) > epoch and lease["spec"]["leaseTransitions"] == epoch:
            notes = {**notes, names.RELEASED: "true"}
            self.memory.put({**lease, "metadata": {**lease["metadata"], "annotations": notes}})
            manifest = self.memory.objects["Pod", "team", pod]
            process = {"exitCode": 0, "finishedAt": timestamp(self.now)}
            container = {"name": "driver", "restartCount": 0, "state": {"terminated": process}}
            status = {"phase": "Succeeded", "containerStatuses": [container]}
            self.memory.put({**manifest, "status": status})
            return
        if notes.get(names.HANDOVER) == str(epoch) and notes.get(names.RELEASED) == "true":
            left = {k: v for k, v in notes.items() if k not in (names.HANDOVER, names.RELEASED)}
            lease = {**lease, "metadata": {**lease["metadata"], "annotations": left}, "spec": {}}
        super()._renew(lease, epoch, pod)

    def pods(self) -> dict[str, str]:
        """By name, the node."""
        return {name: pod["spec"].get("nodeName", "") for name, pod in self.of("Pod", "team").items()}

    def drivers(self, fragment: str) -> list[str]:
        """Its pods of its own."""
        return [name for name in self.pods() if name.rpartition("-e")[0] == fragment]

    def entries(self) -> dict[str, str]:
        """What is ordered -> the host."""
        return {
            key: name
            for name, manifest in self.of("ConfigMap", "team").items()
            if manifest["metadata"]["labels"].get(names.ROLE) == "host-orders"
            for key in manifest.get("data") or {}
        }

    def heaps(self) -> dict[str, int]:
        """[MiB] of each host."""
        return {
            name: int(manifest["metadata"]["annotations"][names.HEAP])
            for name, manifest in self.of("ConfigMap", "team").items()
            if manifest["metadata"]["labels"].get(names.ROLE) == "host-orders"
        }

    def ready(self) -> bool:
        return all(
            any(
                c["type"] == "Ready" and c["status"] == "True"
                for c in q.get("status", {}).get("conditions", ())
            )
            for q in self.of("StreamQuery", "team").values()
        )

    def until(self, condition: Callable[[], object], rounds: int = 60) -> None:
        for _ in range(rounds):
            if condition():
                return
            self.round()
        raise AssertionError(f"not within {rounds} rounds: {self.pods()} {self.entries()}")

    def cordon(self, name: str) -> None:
        manifest = self.memory.objects["Node", "", name]
        self.memory.put({**manifest, "spec": {**manifest["spec"], "unschedulable": True}})


@pytest.fixture
def scenario() -> HostScenario:
    scenario = HostScenario()
    scenario.until(scenario.ready)
    return scenario


def test_all_fragments_of_a_node_run_in_one_host(scenario: HostScenario) -> None:
    placements = scenario.of("Placement", "team").values()
    nodes = {fragment["node"] for p in placements for fragment in p["spec"]["fragments"]}
    assert sorted(scenario.pods().values()) == sorted(nodes)
    assert len(scenario.entries()) == sum(len(p["spec"]["fragments"]) for p in placements)
    pod = next(iter(scenario.of("Pod", "team").values()))
    about = json.loads(pod["metadata"]["annotations"][names.SPEC])
    assert about["desired"] == f"kubernetes:team/{pod['metadata']['name']}"
    assert pod["spec"]["containers"][0]["args"] == [
        "python3",
        "-m",
        "weir_runtime.host",
        "/etc/weir/fragment.json",
    ]
    assert pod["spec"]["restartPolicy"] == "Always"


def test_a_host_may_read_and_write_its_own_objects_alone(scenario: HostScenario) -> None:
    name = next(iter(scenario.pods()))
    rules = scenario.of("Role", "team")[name]["rules"]
    assert {(r["resources"][0], *r["resourceNames"], *sorted(r["verbs"])) for r in rules} == {
        ("leases", name, "get", "update", "watch"),
        ("configmaps", name, "get", "watch"),
        ("configmaps", f"{name}-state", "get", "update"),
    }
    fragments = {key.rsplit("-e", 1)[0] for key, host in scenario.entries().items() if host == name}
    bound = scenario.of("RoleBinding", "team")
    assert all(name in {s["name"] for s in bound[fragment]["subjects"]} for fragment in fragments)


def test_a_cordoned_node_is_left_for_another_host_without_a_gap(scenario: HostScenario) -> None:
    left = next(iter(scenario.pods().values()))
    scenario.cordon(left)
    scenario.until(lambda: left not in scenario.pods().values(), 200)
    assert scenario.ready()
    assert all(key.endswith(("-e1", "-e2")) for key in scenario.entries())
    hosts = set(scenario.entries().values())
    assert hosts == set(scenario.pods()), "the host that has nothing to run has gone"


def test_a_host_with_nothing_to_run_goes_after_a_while_with_all_that_is_its_own(
    scenario: HostScenario,
) -> None:
    for name in "abc":
        del scenario.memory.objects["StreamQuery", "team", name]
    scenario.until(lambda: not scenario.entries(), 40)
    assert scenario.pods(), "it stays for a while, for whoever comes next"
    scenario.until(lambda: not scenario.pods(), int(IDLE_SECONDS / 5) + 10)
    scenario.until(lambda: not scenario.of("ConfigMap", "team") or not scenario.entries())


def test_a_host_whose_pod_is_gone_comes_back_with_all_it_ran(scenario: HostScenario) -> None:
    before = scenario.entries()
    for name in scenario.pods():
        uid = scenario.memory.objects["Pod", "team", name]["metadata"]["uid"]
        scenario.hosts.phases.pop(uid)
        del scenario.memory.objects["Pod", "team", name]
    scenario.until(lambda: scenario.pods() and scenario.ready())
    assert scenario.entries() == before, "the same epochs go on, as after the death of a process"


def test_a_budget_holds_each_host_while_it_runs_something(scenario: HostScenario) -> None:
    scenario.settle(3)
    budgets = scenario.of("PodDisruptionBudget", "team")
    assert budgets.keys() == scenario.pods().keys(), "one a pod: of two none would count"


def test_another_operator_in_the_middle_goes_on_where_the_first_was() -> None:
    """After each of the first rounds a new one, without memory."""
    scenario = HostScenario()
    for _ in range(12):
        following = HostScenario.__new__(HostScenario)
        KubeScenario.__init__(following, memory=scenario.memory, hosts=True)
        following.hosts, following.slow, following.now = scenario.hosts, scenario.slow, scenario.now
        scenario = following
        scenario.round()
    scenario.until(scenario.ready)
    assert len(scenario.pods()) == len(set(scenario.pods().values()))


def test_orders_in_another_namespace_disturb_nobody(scenario: HostScenario) -> None:
    """Anybody who may write ConfigMaps may write these labels, and an owner."""
    (name, _), *_ = scenario.pods().items()
    forged = scenario.memory.objects["ConfigMap", "team", name]
    metadata = {**forged["metadata"], "namespace": "other", "uid": "forged"}
    scenario.memory.put({**forged, "metadata": metadata})
    before = scenario.entries()
    scenario.settle(5)
    assert scenario.entries() == before
    assert scenario.ready()
    assert len({(p.fragment, p.epoch) for p in scenario.cluster.processes}) == len(scenario.cluster.processes)


def test_a_fragment_that_should_be_alone_gets_a_pod_of_its_own(scenario: HostScenario) -> None:
    """And keeps one, also on another node; the others stay where they are."""
    key, host = next(iter(scenario.entries().items()))
    others = {k: h for k, h in scenario.entries().items() if k != key}
    scenario.hosts.alone[key] = "out of memory: the largest"
    fragment = key.rpartition("-e")[0]
    scenario.until(lambda: scenario.drivers(fragment) and scenario.entries() == others)
    scenario.until(scenario.ready)
    assert any("out of memory: the largest" in e["note"] for e in scenario.of("Event", "team").values())
    (first,) = scenario.drivers(fragment)
    scenario.cordon(scenario.pods()[first])
    scenario.until(lambda: scenario.drivers(fragment) and first not in scenario.pods())
    scenario.until(scenario.ready)
    assert not [k for k in scenario.entries() if k.rpartition("-e")[0] == fragment]
    assert host in scenario.heaps()


def test_a_host_that_is_full_has_another_of_its_size_beside_it() -> None:
    scenario = HostScenario("abcdefghij", nodes=("n1",))
    scenario.until(scenario.ready)
    assert len(scenario.entries()) == 10
    assert sorted(scenario.heaps().values()) == [1024, 1024], "each has room for eight"


def test_who_takes_the_place_of_a_host_that_ends_is_no_larger(scenario: HostScenario) -> None:
    """It would ask its node for more than the plan did, and might never start."""
    name, node_name = next(iter(scenario.pods().items()))
    pod = scenario.memory.objects["Pod", "team", name]
    scenario.hosts.dead.add(node_name)
    scenario.slow.add(name)
    gone = {**pod["metadata"], "deletionTimestamp": timestamp(scenario.now)}
    scenario.memory.put({**pod, "metadata": gone})
    second = f"{name.removesuffix('1')}2"
    scenario.until(lambda: second in scenario.heaps())
    assert set(scenario.heaps().values()) == {1024}


@pytest.mark.parametrize("assigned", [False, True])
def test_a_host_that_has_never_started_is_not_waited_for(assigned: bool) -> None:
    """No node has room for its Pod, or its image cannot be pulled."""
    scenario = HostScenario()
    scenario.hosts.dead |= {"n1", "n2", "n3"}
    scenario.until(lambda: len(scenario.pods()) == 3)
    for name in scenario.pods() if assigned else ():
        pod = scenario.memory.objects["Pod", "team", name]
        waiting = {"name": "driver", "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
        status = {"phase": "Pending", "containerStatuses": [waiting]}
        scenario.memory.put({**pod, "spec": {**pod["spec"], "nodeName": "n1"}, "status": status})
    for name in "abc":
        del scenario.memory.objects["StreamQuery", "team", name]
    scenario.until(lambda: not scenario.entries() and not scenario.pods())


def test_what_is_to_stop_needs_no_room(scenario: HostScenario) -> None:
    """Else its fragment would have to leave the node that it has just come back to."""
    name, node_name = next(iter(scenario.pods().items()))
    host = scenario.cluster.hosts._hosts["team", name]
    pod = scenario.memory.objects["Pod", "team", name]
    full = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes: Insufficient cpu"}
    status = {"phase": "Pending", "conditions": [full]}
    pod = {**pod, "spec": {**pod["spec"], "nodeName": ""}, "status": status}
    (order, *_) = host.entries()
    for stopping in (False, True):
        process = read_hosted(
            replace(host, pod=pod, said=None), replace(order, stopping=stopping), 0, None, None
        )
        assert (process.planned_node, process.no_room) == (node_name, not stopping)


def test_a_query_that_asks_for_it_leaves_the_host_for_pods_of_its_own(scenario: HostScenario) -> None:
    manifest = scenario.memory.objects["StreamQuery", "team", "a"]
    edited = {**manifest["spec"], "isolation": "Dedicated"}
    meta = {**manifest["metadata"], "generation": 2}
    scenario.memory.put({**manifest, "metadata": meta, "spec": edited})
    scenario.until(lambda: scenario.ready() and not any(key.startswith("a-") for key in scenario.entries()))
    drivers = [
        p for p in scenario.of("Pod", "team").values() if p["metadata"]["labels"][names.ROLE] == "driver"
    ]
    assert {p["metadata"]["labels"][names.QUERY] for p in drivers} == {"a"}
    del edited["isolation"]
    scenario.memory.put({**manifest, "metadata": {**meta, "generation": 3}, "spec": edited})
    scenario.until(
        lambda: all(
            p["metadata"]["labels"][names.ROLE] == "host" for p in scenario.of("Pod", "team").values()
        )
    )
    scenario.until(scenario.ready)


def test_a_node_that_is_lost_is_left_and_its_host_is_not_forced_away(scenario: HostScenario) -> None:
    name, lost = next(iter(scenario.pods().items()))
    scenario.hosts.dead.add(lost)
    manifest = scenario.memory.objects["Node", "", lost]
    (condition,) = manifest["status"]["conditions"]
    away = {**condition, "status": "Unknown", "lastTransitionTime": "2025-12-31T00:00:00Z"}
    scenario.memory.put({**manifest, "status": {**manifest["status"], "conditions": [away]}})
    scenario.until(lambda: scenario.ready() and len(scenario.pods()) > 1, 200)
    assert name in scenario.pods(), "its kubelet alone can say that it has ended"
