"""Ready is said of queries whose fragments all have a process that works; what gets no further is Stalled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.decision import Action, Start, WriteStatus
from weir_operator.controller.loop import Loop
from weir_operator.controller.ports import Refused

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, one_query, query, settle

NODES = frozenset({"n1", "n2", "n3"})
WORDS = 'ImagePullBackOff: Back-off pulling image "weir-runtime:gone"'


@dataclass
class Watched(FakeCluster):
    """Remembers every verdict, and refuses starts while `refusal` says why."""

    verdicts: list[str] = field(default_factory=list)
    refusal: str = ""
    words: str = ""
    crashed: bool = False  # between two lives of every process
    doomed: bool = False  # their last lives ended because they cannot run as they are told

    def write_status(self, status: WriteStatus) -> None:
        if status.kind == "StreamQuery":
            self.verdicts += [c["status"] for c in status.status["conditions"] if c["type"] == "Ready"]
        super().write_status(status)

    def apply(self, action: Action) -> None:
        if isinstance(action, Start) and self.refusal:
            raise Refused(self.refusal)
        super().apply(action)

    def observe(self) -> Any:
        observed = super().observe()
        if not self.words:
            return observed
        says = [
            replace(p, state="starting", message=self.words, refused=self.doomed)
            if self.crashed or p.state == "starting"
            else p
            for p in observed.processes
        ]
        return replace(observed, processes=tuple(says))


def of(cluster: FakeCluster, kind: str) -> Mapping[str, Any]:
    conditions = cluster.statuses["default/q"]["conditions"]
    return next(c for c in conditions if c["type"] == kind)


def later(cluster: FakeCluster, the_loop: Loop, seconds: float) -> None:
    cluster.time += seconds
    the_loop.once()


def running() -> tuple[Scenario, Watched, Loop]:
    scenario, cluster = one_query(), Watched()
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    assert condition(cluster, "q", "Ready") == "True"
    return scenario, cluster, the_loop


def without_image(cluster: Watched) -> None:
    """The driver is deleted, and the image is in no registry."""
    cluster.slow_nodes, cluster.words = NODES, WORDS
    cluster.processes.clear()


def test_a_query_whose_driver_is_gone_is_not_ready_while_the_successor_has_no_image() -> None:
    _, cluster, the_loop = running()
    without_image(cluster)
    for _ in range(5):
        the_loop.once()
        assert condition(cluster, "q", "Ready") == "False"
    assert condition(cluster, "q", "Reconciling") == "True"
    assert WORDS in of(cluster, "Ready")["message"]


def test_after_the_deadline_it_is_stalled_with_the_words_of_the_pod_and_an_event_and_recovers() -> None:
    _, cluster, the_loop = running()
    without_image(cluster)
    the_loop.once()
    later(cluster, the_loop, 590.0)
    assert condition(cluster, "q", "Stalled") == "False"
    later(cluster, the_loop, 20.0)
    stalled = of(cluster, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "ProgressDeadlineExceeded")
    assert WORDS in stalled["message"]
    assert "progressDeadline" in stalled["message"]
    assert condition(cluster, "q", "Ready") == "False"
    for _ in range(3):
        later(cluster, the_loop, 60.0)
    (event,) = [e for e in cluster.events if e.reason == "ProgressDeadlineExceeded"]
    assert event.warning
    assert WORDS in event.message
    cluster.slow_nodes, cluster.words = frozenset(), ""
    settle(the_loop)
    assert (condition(cluster, "q", "Stalled"), condition(cluster, "q", "Ready")) == ("False", "True")


def test_a_fragment_that_cannot_run_as_it_is_told_is_stalled_at_once_and_recovers() -> None:
    _, cluster, the_loop = running()
    cluster.crashed, cluster.doomed, cluster.words = True, True, "exit code 2: in/a.csv, row 3: no number"
    for _ in range(3):
        later(cluster, the_loop, 1.0)
    stalled = of(cluster, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "FragmentRefused")
    assert cluster.words in stalled["message"]
    assert [e.warning for e in cluster.events if e.reason == "FragmentRefused"] == [True]
    cluster.crashed, cluster.doomed, cluster.words = False, False, ""  # the file was mended
    settle(the_loop)
    assert (condition(cluster, "q", "Stalled"), condition(cluster, "q", "Ready")) == ("False", "True")


def test_a_first_start_that_gets_nowhere_is_stalled_and_a_new_controller_forgets_no_time() -> None:
    scenario, cluster = one_query(), Watched(full_nodes=NODES)
    scenario.policy = PlacementPolicySpec.model_validate({"progressDeadline": "1m"})
    loop(scenario, cluster).once()
    for _ in range(4):
        later(cluster, loop(scenario, cluster), 20.0)
    assert condition(cluster, "q", "Stalled") == "True"


def test_what_the_api_server_refuses_is_said_at_once() -> None:
    scenario, cluster = (
        one_query(),
        Watched(refusal='pods "q" is forbidden: violates PodSecurity "restricted"'),
    )
    the_loop = loop(scenario, cluster)
    the_loop.once()
    the_loop.once()
    assert "violates PodSecurity" in of(cluster, "Reconciling")["message"]
    later(cluster, the_loop, 700.0)
    assert "violates PodSecurity" in of(cluster, "Stalled")["message"]
    cluster.refusal = ""
    settle(the_loop)
    assert condition(cluster, "q", "Ready") == "True"


def test_an_edit_begins_its_time_anew() -> None:
    scenario, cluster = one_query(), Watched(slow_nodes=NODES, full_nodes=NODES)
    the_loop = loop(scenario, cluster)
    the_loop.once()
    later(cluster, the_loop, 500.0)
    scenario.queries["default/q"] = desired(query("q"), generation=2)
    the_loop.once()
    later(cluster, the_loop, 500.0)
    assert condition(cluster, "q", "Stalled") == "False"
    later(cluster, the_loop, 150.0)
    assert condition(cluster, "q", "Stalled") == "True"


def test_a_process_that_works_for_a_moment_between_crashes_does_not_stop_the_clock() -> None:
    scenario, cluster, the_loop = running()
    scenario.policy = PlacementPolicySpec.model_validate({"progressDeadline": "5m"})
    stalled = []
    for _ in range(8):
        cluster.crashed, cluster.words = True, "exit code 137: OOMKilled"
        later(cluster, the_loop, 1.0)
        stalled.append(condition(cluster, "q", "Stalled") == "True")
        cluster.crashed, cluster.words = False, ""
        later(cluster, the_loop, 60.0)
        assert condition(cluster, "q", "Ready") == "True"
    assert stalled[0] is False
    assert stalled[-1] is True


def test_a_query_that_worked_for_long_has_all_its_time_again() -> None:
    _, cluster, the_loop = running()
    without_image(cluster)
    the_loop.once()
    cluster.slow_nodes, cluster.words = frozenset(), ""
    while of(cluster, "Ready")["reason"] != "Running":
        the_loop.once()
    later(cluster, the_loop, 1000.0)
    without_image(cluster)
    the_loop.once()
    later(cluster, the_loop, 30.0)
    assert condition(cluster, "q", "Stalled") == "False"


def test_a_warm_move_is_ready_all_the_time() -> None:
    scenario, cluster, the_loop = running()
    cluster.verdicts.clear()
    node = cluster.running()["q-f"]
    scenario.cordoned = frozenset({node})
    settle(the_loop)
    assert node not in cluster.running().values()
    assert "False" not in cluster.verdicts


def test_a_move_that_does_not_end_is_stalled_while_the_old_driver_works_on() -> None:
    scenario, cluster, the_loop = running()
    node = cluster.running()["q-f"]
    scenario.cordoned, cluster.slow_nodes, cluster.words = frozenset({node}), NODES, WORDS
    the_loop.once()
    the_loop.once()
    later(cluster, the_loop, 700.0)
    the_loop.once()  # it has been sent to another node, where it does not end either
    assert WORDS in of(cluster, "Stalled")["message"]
    states = [condition(cluster, "q", kind) for kind in ("Ready", "Moving", "Stalled", "Reconciling")]
    assert states == ["True", "True", "True", "False"]


def test_many_moves_after_one_another_are_progress() -> None:
    scenario = Scenario({f"default/q{i}": desired(query(f"q{i}")) for i in range(5)})
    scenario.policy = PlacementPolicySpec.model_validate({"progressDeadline": "20s"})
    cluster = Watched()
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    begin = cluster.time
    scenario.cordoned = frozenset({"n1"})
    stalled: list[str] = []
    for _ in range(60):
        the_loop.once()
        stalled += [n for n in scenario.queries if condition(cluster, n.split("/")[1], "Stalled") == "True"]
    assert cluster.time - begin > 20
    assert not set(cluster.running().values()) & scenario.cordoned
    assert stalled == []


def test_while_nothing_changes_the_clocks_write_nothing() -> None:
    _, cluster, the_loop = running()
    before = cluster.writes
    for _ in range(10):
        later(cluster, the_loop, 100.0)
    assert cluster.writes == before
