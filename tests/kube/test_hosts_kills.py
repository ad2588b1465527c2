"""An operator that is killed at any of its writes: the next one goes on where it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from weir_operator.kube.api import NoAnswer

from tests.kube.kube_scenario import KubeScenario
from tests.kube.test_hosts import HostScenario

WRITES = ("create", "apply", "update", "merge", "delete")


class KilledScenario(HostScenario):
    """Its operator writes nothing from the write `at` on, until another one takes its place."""

    def __init__(self, at: int) -> None:
        super().__init__("ab", nodes=("n1", "n2"))
        self.writes, self.at = 0, at
        self.memory.refuse = self._count

    def _count(self, verb: str, kind: str, namespace: str, name: str) -> None:
        if verb in WRITES:
            self.writes += 1
            if self.writes >= self.at:
                raise NoAnswer(f"killed at {verb} of {kind} {name}")

    def round(self) -> None:
        with suppress(NoAnswer):
            super().round()

    def another(self) -> None:
        """Without memory of what was under way."""
        self.memory.refuse = lambda *_: None
        hosts, now, memory = self.hosts, self.now, self.memory
        KubeScenario.__init__(self, memory=memory, hosts=True)
        self.hosts, self.now = hosts, now


def play(change: Callable[[HostScenario], None], over: Callable[[HostScenario], bool]) -> None:
    """Plays a change with a kill at each of its writes, until there are no more of them."""
    at = 0
    while True:
        at += 1
        scenario = KilledScenario(at=10**9)
        scenario.until(scenario.ready)
        change(scenario)
        scenario.writes, scenario.at = 0, at
        for _ in range(60):
            scenario.round()
            if scenario.writes >= at or over(scenario):
                break
        if scenario.writes < at:
            assert at > 10, "there is something to kill it at"
            return
        scenario.another()
        scenario.until(lambda scenario=scenario: over(scenario), 80)  # type: ignore[misc]
        assert len(scenario.heaps()) == len(set(scenario.pods().values())), "one host a node"


def test_at_any_write_of_a_move_to_another_host() -> None:
    def drained(scenario: HostScenario) -> None:
        scenario.cordon("n1")

    def moved(scenario: HostScenario) -> bool:
        nodes = {m["metadata"]["annotations"]["weir.dev/node"] for m in orders(scenario)}
        return scenario.ready() and nodes == {"n2"} and set(scenario.pods().values()) == {"n2"}

    play(drained, moved)


def test_at_any_write_of_the_end_of_a_query() -> None:
    def deleted(scenario: HostScenario) -> None:
        del scenario.memory.objects["StreamQuery", "team", "a"]

    play(deleted, lambda scenario: not any(key.startswith("a-") for key in scenario.entries()))


def test_at_any_write_by_which_a_fragment_leaves_its_host_to_be_alone() -> None:
    def named(scenario: HostScenario) -> None:
        key = min(key for key in scenario.entries() if key.startswith("a-"))
        scenario.hosts.alone[key] = "out of memory"

    def alone(scenario: HostScenario) -> bool:
        (key,) = scenario.hosts.alone
        fragment = key.rpartition("-e")[0]
        hosted = any(entry.rpartition("-e")[0] == fragment for entry in scenario.entries())
        return scenario.ready() and len(scenario.drivers(fragment)) == 1 and not hosted

    play(named, alone)


def orders(scenario: HostScenario) -> list[dict[str, dict[str, dict[str, str]]]]:
    """ConfigMaps that have something in them to run."""
    return [
        m
        for m in scenario.of("ConfigMap", "team").values()
        if "weir.dev/node" in m["metadata"].get("annotations", {})
    ]


def test_at_any_write_of_a_first_start() -> None:
    at = 0
    while True:
        at += 1
        scenario = KilledScenario(at)
        for _ in range(40):
            scenario.round()
            if scenario.writes >= at or scenario.ready():
                break
        if scenario.writes < at:
            assert at > 20, "there is something to kill it at"
            return
        scenario.another()
        scenario.until(scenario.ready, 80)
        assert len(scenario.heaps()) == len(set(scenario.pods().values())), "one host a node"
