"""The controller is killed after each of its writes: where it ends does not change."""

from __future__ import annotations

import pytest

from tests.controller.fake_cluster import Crash, FakeCluster
from tests.controller.scenario import desired, loop, one_query, query, settle


def story(crash_at: int | None) -> FakeCluster:
    """Start, edit, cordon; with a crash the controller is built anew and goes on."""
    cluster, scenario = FakeCluster(crash_at=crash_at), one_query()

    def run() -> None:
        while True:
            try:
                return settle(loop(scenario, cluster))
            except Crash:
                cluster.crash_at = None

    run()
    scenario.queries["default/q"] = desired(query("q", "s.k = 3"))
    run()
    scenario.cordoned = frozenset(cluster.running().values())
    run()
    return cluster


UNDISTURBED = story(None)


@pytest.mark.parametrize("crash_at", range(1, UNDISTURBED.writes + 1))
def test_killed_after_any_write_it_ends_in_the_same_place(crash_at: int) -> None:
    undisturbed, crashed = UNDISTURBED, story(crash_at)
    assert crashed.running() == undisturbed.running()
    assert set(crashed.leases) == set(undisturbed.leases)
    assert crashed.placements.keys() == undisturbed.placements.keys()
    for epochs in crashed.writers.values():
        assert epochs == sorted(set(epochs)), "an epoch wrote twice, or after a later one"
    for written in crashed.placements.values():
        revisions = {entry["revision"] for entry in written.status["history"]}
        assert written.spec["revision"] in revisions, "a plan in force to which nobody could roll back"
    states = {p.fragment: p.state for p in crashed.processes.values()}
    assert set(states.values()) == {"running"}
