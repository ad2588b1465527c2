"""Two releases in one cluster: each serves the policies of its class, and never writes, moves or sweeps what
the other one serves."""

from __future__ import annotations

import pytest
from weir_operator.controller.decision import WriteStatus
from weir_operator.kube import names
from weir_operator.kube.leader import DURATION, Leader
from weir_operator.kube.settings import OperatorSettings
from weir_operator.kube.uninstall import lift_budgets

from tests.kube.kube_scenario import BEGIN, HOME, KubeScenario, node, plain, policy, query, stream
from tests.kube.memory import Manifest, Memory

STAY = {"drift": {"minHeadroom": 0, "minGain": 1e9}, "strategy": {"name": "greedy"}}
BLUE = "blue"


class TwoReleases:
    """The releases of class "" and `blue` on one API server; what each has written about which object."""

    def __init__(self, *objects: Manifest) -> None:
        self.memory = Memory(
            *(node(f"n{i}") for i in (1, 2, 3)),
            policy("default", **STAY),
            policy("sky", operatorClass=BLUE, **STAY),
            stream("a", "s", "n1"),
            query("a", "plain", "s"),
            query("a", "sailing", "s", policy="sky"),
            *objects,
        )
        self.releases = {
            "": KubeScenario(memory=self.memory),
            BLUE: KubeScenario(memory=self.memory, operator_class=BLUE),
        }
        self.writes: list[tuple[str, str, str]] = []
        self.memory.refuse = self._note
        self._acts = ""

    def _note(self, verb: str, kind: str, namespace: str, name: str) -> None:
        if verb not in ("get", "list") and kind != "Event":
            self.writes.append((self._acts, kind, name))

    def rounds(self, *classes: str, count: int = 8) -> None:
        """Of these releases, in turn; of both without."""
        for _ in range(count):
            for release in classes or tuple(self.releases):
                self._acts = release
                self.releases[release].round()

    def pods(self, query: str) -> dict[str, str]:
        """Uids by name."""
        pods = self.releases[""].of("Pod", "a")
        return {n: str(p["metadata"]["uid"]) for n, p in pods.items() if n.startswith(f"{query}-")}

    def edit(self, kind: str, name: str, **spec: object) -> None:
        key = (kind, "" if kind == "PlacementPolicy" else "a", name)
        present = self.memory.objects[key]
        meta = {**present["metadata"], "generation": present["metadata"]["generation"] + 1}
        self.memory.put({**present, "metadata": meta, "spec": {**present["spec"], **spec}})


@pytest.fixture
def scenario() -> TwoReleases:
    result = TwoReleases()
    result.rounds()
    assert result.pods("plain")
    assert result.pods("sailing")
    return result


def of_query(writes: list[tuple[str, str, str]], query: str) -> set[str]:
    """The releases that wrote anything of it."""
    return {release for release, _, name in writes if name == query or name.startswith(f"{query}-")}


def test_each_serves_its_own_and_writes_nothing_of_the_other(scenario: TwoReleases) -> None:
    assert of_query(scenario.writes, "plain") == {""}
    assert of_query(scenario.writes, "sailing") == {BLUE}
    for name in ("plain", "sailing"):
        (ready,) = [
            c
            for c in scenario.memory.objects["StreamQuery", "a", name]["status"]["conditions"]
            if c["type"] == "Ready"
        ]
        assert ready["status"] == "True"


def test_what_both_use_is_described_by_one(scenario: TwoReleases) -> None:
    assert {release for release, kind, _ in scenario.writes if kind == "Stream"} == {""}
    scenario.writes.clear()
    blue = scenario.releases[BLUE].cluster
    blue.write_status(WriteStatus("Stream", "a", "s", {}))
    assert scenario.writes == []
    assert {r for r, kind, name in scenario.writes if kind == "PlacementPolicy"} == set()


def test_what_is_made_carries_its_class(scenario: TwoReleases) -> None:
    for kind in ("Placement", "Pod", "Lease", "PodDisruptionBudget", "Role", "RoleBinding", "ServiceAccount"):
        for name, manifest in scenario.releases[""].of(kind, "a").items():
            label = manifest["metadata"]["labels"].get(names.CLASS)
            assert label == (BLUE if name.startswith("sailing") else None), (kind, name)


def test_what_no_placement_names_any_more_is_left_to_its_own_release(scenario: TwoReleases) -> None:
    """Its pods and leases end only by the release that made them."""
    del scenario.memory.objects["Placement", "a", "sailing"]
    del scenario.memory.objects["StreamQuery", "a", "sailing"]
    pods = scenario.pods("sailing")
    scenario.writes.clear()
    scenario.rounds("")
    assert scenario.pods("sailing") == pods
    assert of_query(scenario.writes, "sailing") == set()
    scenario.rounds(BLUE)
    assert of_query(scenario.writes, "sailing") == {BLUE}


def test_without_its_policy_a_query_stays_with_its_release(scenario: TwoReleases) -> None:
    del scenario.memory.objects["PlacementPolicy", "", "sky"]
    pods = scenario.pods("sailing")
    scenario.writes.clear()
    scenario.rounds()
    assert of_query(scenario.writes, "sailing") <= {BLUE}
    assert scenario.pods("sailing") == pods


def test_another_class_of_the_policy_hands_its_queries_over_as_they_run(scenario: TwoReleases) -> None:
    pods = scenario.pods("plain")
    scenario.edit("PlacementPolicy", "default", operatorClass=BLUE)
    scenario.writes.clear()
    scenario.rounds(count=12)
    assert of_query(scenario.writes, "plain") <= {BLUE}
    assert scenario.pods("plain") == pods, "nothing restarts"
    scenario.edit("StreamQuery", "plain", suspend=True)
    scenario.rounds(count=12)
    assert scenario.pods("plain") == {}
    assert of_query(scenario.writes, "plain") == {BLUE}


@pytest.mark.parametrize("release", ["", BLUE])
def test_a_sweep_keeps_what_the_other_release_has(release: str) -> None:
    claim = plain("PersistentVolumeClaim", "a", "weir-exchange")
    scenario = TwoReleases(claim)
    scenario.rounds()
    mine, theirs = ("sailing", "plain") if release else ("plain", "sailing")
    assert ("Pod", "a", "weir-sweep") not in scenario.memory.objects
    kept = {name for name in scenario.releases[""].of("Lease", "a") if name.startswith(f"{theirs}-")}
    assert kept
    for kind in ("StreamQuery", "Placement"):
        del scenario.memory.objects[kind, "a", mine]
    for _ in range(12):
        scenario.rounds(release, count=1)
        if ("Pod", "a", "weir-sweep") in scenario.memory.objects:
            break
    (container,) = scenario.memory.objects["Pod", "a", "weir-sweep"]["spec"]["containers"]
    assert kept <= set(container["args"])


def test_pods_of_the_other_release_are_load(scenario: TwoReleases) -> None:
    seen = {release: scenario.cluster.observe() for release, scenario in scenario.releases.items()}
    fragments = {release: {p.fragment.split("-")[0] for p in o.processes} for release, o in seen.items()}
    assert fragments == {"": {"plain"}, BLUE: {"sailing"}}
    assert set(seen[""].foreign) == {p.node for p in seen[BLUE].processes}
    assert set(seen[BLUE].foreign) == {p.node for p in seen[""].processes}


def test_a_tenant_cannot_give_its_query_to_another_release(scenario: TwoReleases) -> None:
    """By a label that it writes on its Placement, pod or lease: the policy decides."""
    for kind in ("Placement", "Pod", "Lease"):
        for name, manifest in scenario.releases[""].of(kind, "a").items():
            if name.startswith("plain"):
                labels = {**manifest["metadata"]["labels"], names.CLASS: BLUE}
                scenario.memory.put({**manifest, "metadata": {**manifest["metadata"], "labels": labels}})
    pods = scenario.pods("plain")
    scenario.writes.clear()
    scenario.rounds()
    assert of_query(scenario.writes, "plain") <= {""}
    assert scenario.pods("plain") == pods


def test_two_releases_in_one_namespace_have_a_leader_each() -> None:
    memory = Memory()
    leaders = [Leader(memory.api, HOME, name, lambda: BEGIN, operator_class=name) for name in ("", BLUE)]
    assert all(leader.campaign() for leader in leaders)
    assert memory.names("Lease") == {"weir-operator", "weir-operator-blue"}


def test_uninstalling_one_release_leaves_the_budgets_of_the_other(scenario: TwoReleases) -> None:
    waits: list[float] = []
    settings = OperatorSettings(namespace=HOME, identity="job", operator_class=BLUE)
    lift_budgets(scenario.memory.api, settings, lambda _: None, waits.append)
    assert waits == [DURATION]
    left = scenario.releases[""].of("PodDisruptionBudget", "a")
    assert {name.split("-")[0] for name in left} == {"plain"}


def test_the_class_comes_from_the_environment() -> None:
    assert (
        OperatorSettings.of_environment({"WEIR_OPERATOR_CLASS": BLUE, "POD_NAMESPACE": "x"}).operator_class
        == BLUE
    )
