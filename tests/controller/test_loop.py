"""The loop over ports in memory: it settles, and it moves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.desired_state import Fault

from tests.controller.scenario import (
    FakeCluster,
    Scenario,
    condition,
    desired,
    loop,
    one_query,
    query,
    settle,
)


def test_a_query_is_planned_started_and_called_ready_only_when_it_runs() -> None:
    cluster = FakeCluster()
    it = loop(one_query(), cluster)
    it.once()
    assert condition(cluster, "q", "Ready") == "False"
    assert condition(cluster, "q", "Reconciling") == "True"
    settle(it)
    assert condition(cluster, "q", "Ready") == "True"
    assert condition(cluster, "q", "Reconciling") == "False"
    assert len(cluster.running()) >= 1


def test_when_all_is_as_it_should_be_nothing_is_written() -> None:
    cluster = FakeCluster()
    it = loop(one_query(), cluster)
    settle(it)
    writes = cluster.writes
    for _ in range(20):
        it.once()
    assert cluster.writes == writes


def test_a_generation_in_a_placement_that_nobody_keeps_up_goes_with_the_next_write() -> None:
    """A default of older definitions: who waits for it waits for ever. It is no reason to write by itself."""
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    placement, writes = cluster.placements["default/q"], cluster.writes
    cluster.placements["default/q"] = replace(
        placement, status={**placement.status, "observedGeneration": -1}
    )
    settle(it)
    assert cluster.writes == writes
    scenario.cordoned = frozenset(cluster.running().values())
    settle(it)
    assert "observedGeneration" not in cluster.placements["default/q"].status


def test_a_deleted_query_leaves_nothing() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    scenario.queries = {}
    settle(it)
    assert not cluster.processes
    assert not cluster.leases
    assert not cluster.placements
    assert cluster.forgotten


def test_an_edit_replaces_only_the_query_that_was_edited() -> None:
    scenario = Scenario({"default/q": desired(query("q")), "default/r": desired(query("r"))})
    cluster = FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    before = set(cluster.processes)
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"))
    settle(it)
    assert {f for f, _ in before if "r-" in f[:2]} <= {f for f, _ in cluster.processes}
    # also what computes the same as before: its batches may be deleted already
    assert not {f for f, _ in before if f.startswith("q-")} & {f for f, _ in cluster.processes}
    assert all(epoch == 1 for _, epoch in cluster.processes)


def test_suspend_stops_and_keeps_the_lease_and_resume_goes_on_with_a_higher_epoch() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    scenario.queries["default/q"] = replace(scenario.queries["default/q"], suspended=True)
    settle(it)
    assert not cluster.processes
    assert cluster.leases
    assert not cluster.forgotten
    assert condition(cluster, "q", "Ready") == "True"
    scenario.queries["default/q"] = replace(scenario.queries["default/q"], suspended=False)
    settle(it)
    assert cluster.running()
    assert all(epochs == [1, 2] for epochs in cluster.writers.values())


def test_a_query_that_becomes_faulty_goes_on_running_and_says_so() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    running = cluster.running()
    scenario.queries, scenario.faults = (
        {},
        {"default/q": Fault("spec.sql: unknown stream x", missing=False, generation=2)},
    )
    settle(it)
    assert cluster.running() == running
    assert condition(cluster, "q", "Stalled") == "True"


def test_a_missing_reference_stalls_only_after_two_minutes() -> None:
    cluster = FakeCluster()
    scenario = Scenario({}, faults={"default/q": Fault("stream x is not there", missing=True, generation=1)})
    it = loop(scenario, cluster)
    desired_state_before = scenario.desired_state
    it.desired_state = lambda s, t: replace(desired_state_before(s, t), created={"default/q": 1000.0})
    it.once()
    assert condition(cluster, "q", "Stalled") == "False"
    assert condition(cluster, "q", "Reconciling") == "True"
    cluster.time += 200
    it.once()
    assert condition(cluster, "q", "Stalled") == "True"


@pytest.mark.parametrize("objective", ["headroom", "network-usage"])
def test_a_query_that_cannot_be_placed_is_stalled_with_the_reason(objective: str) -> None:
    cluster = FakeCluster()
    scenario = Scenario({"default/q": desired(query("q", nodes=("nowhere",)))})
    scenario.policy = PlacementPolicySpec.model_validate(
        {"objective": objective, "strategy": {"name": "auto"}}
    )
    settle(loop(scenario, cluster))
    assert condition(cluster, "q", "Stalled") == "True"
    (why,) = (c["message"] for c in cluster.statuses["default/q"]["conditions"] if c["type"] == "Stalled")
    assert "operator default/q/f has no node left: there is no node nowhere" in why
    assert not cluster.processes


def test_a_crashed_process_is_started_again_in_its_place() -> None:
    cluster = FakeCluster()
    it = loop(one_query(), cluster)
    settle(it)
    key = next(iter(cluster.processes))
    cluster.processes[key] = replace(cluster.processes[key], state="failed")
    settle(it)
    assert cluster.processes[key].state == "running"


def test_a_query_is_not_ready_while_a_process_is_elsewhere_than_planned() -> None:
    """A pin that something ignores without a word: the process runs, and everything else is in order."""
    cluster = FakeCluster()
    it = loop(one_query(), cluster)
    settle(it)
    process, other = cluster.put_elsewhere()
    settle(it)
    (event,) = [e for e in cluster.events if e.reason == "OffItsPin"]
    assert event.warning
    assert event.message == f"{process.fragment} runs on {other}, not on {process.node}"
    assert condition(cluster, "q", "Ready") == "False"
    ready = next(c for c in cluster.statuses["default/q"]["conditions"] if c["type"] == "Ready")
    assert (ready["reason"], ready["message"]) == ("FragmentsNotReady", event.message)
    cluster.processes[process.fragment, process.epoch] = process
    settle(it)
    assert condition(cluster, "q", "Ready") == "True"


def test_mode_shadow_shows_and_starts_nothing() -> None:
    cluster, scenario = FakeCluster(), one_query()
    scenario.policy = PlacementPolicySpec.model_validate({"mode": "Shadow"})
    settle(loop(scenario, cluster))
    assert not cluster.processes
    assert cluster.placements["default/q"].status["proposed"]["revision"] == 1


def test_rollback_brings_the_old_nodes_back_and_holds_them() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    first = cluster.running()
    scenario.cordoned = frozenset(first.values())
    settle(it)
    scenario.cordoned = frozenset()
    assert cluster.running() != first
    written = cluster.placements["default/q"]
    cluster.placements["default/q"] = replace(written, spec={**written.spec, "pinned": 1})
    settle(it)
    assert cluster.running() == first


def test_a_revision_that_was_unpinned_can_be_brought_back_again() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    first = cluster.running()

    def ask(**fields: int) -> None:
        written = cluster.placements["default/q"]
        spec = {key: value for key, value in written.spec.items() if key != "pinned"}
        cluster.placements["default/q"] = replace(written, spec={**spec, **fields})
        settle(it)

    for _ in range(2):
        scenario.cordoned = frozenset(first.values())
        settle(it)
        scenario.cordoned = frozenset()
        assert cluster.running() != first
        ask(pinned=1)
        assert cluster.running() == first
        ask()


def test_a_new_image_moves_one_fragment_after_the_other_where_it_is() -> None:
    cluster = FakeCluster()
    it = loop(one_query(), cluster)
    settle(it)
    nodes, epochs = cluster.running(), {k: v[-1] for k, v in cluster.writers.items()}
    it.settings = replace(it.settings, image="runtime:2")
    most = 0
    for _ in range(60):
        it.once()
        lives = [p.fragment for p in cluster.processes.values()]
        most = max(most, len(lives) - len(set(lives)))
    assert most == 1
    assert cluster.running() == nodes
    assert {k: v[-1] for k, v in cluster.writers.items()} == {k: e + 1 for k, e in epochs.items()}
    writes = cluster.writes
    it.once()
    assert cluster.writes == writes


def test_writes_at_the_same_time_end_in_the_same_place() -> None:
    scenario = Scenario({f"default/q{i}": desired(query(f"q{i}")) for i in range(6)})
    one, many = FakeCluster(), FakeCluster()
    settle(loop(scenario, one))
    with ThreadPoolExecutor(4) as pool:
        it = loop(scenario, many)
        it.pool = pool
        settle(it)
    assert many.running() == one.running()
    assert many.log.count("Start") == one.log.count("Start")
    assert many.log.index("Start") > many.log.index("WritePlacement")
