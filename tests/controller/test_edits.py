"""Edits of running queries: the plan before goes on up to a cut, and each row is published by one of both."""

from __future__ import annotations

from dataclasses import replace

from weir_placement.model.fragment import FOREVER

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import condition, desired, loop, one_query, query, settle


def test_an_edit_hands_over_at_a_cut_and_no_row_is_published_by_both() -> None:
    """The old plan goes on, also when it fails meanwhile, until it has passed the cut; the new one begins
    when the cut is agreed, with another generation's names, and publishes only what lies behind it."""
    cluster, town = FakeCluster(), one_query()
    it = loop(town, cluster)
    settle(it)
    old = set(cluster.leases)
    last = min(old)
    town.queries["default/q"] = desired(query("q", "s.k = 2"))
    it.once()
    assert set(cluster.leases) == old
    assert condition(cluster, "q", "Reconciling") == "True"
    key = next(k for k in cluster.processes if k[0] == last)
    cluster.processes[key] = replace(cluster.processes[key], state="failed")
    settle(it)
    assert not set(cluster.leases) & old
    assert set(cluster.forgotten) == old
    packed = cluster.placements["default/q"].spec["plan"]
    specs = packed["told"]
    assert packed["since"] > 0
    assert packed["leaving"] == []
    assert specs[-1]["output"]["after"] == packed["since"]
    assert all(
        i["after"] == packed["since"] for spec in specs for i in spec["inputs"] if i["kind"] == "source"
    )
    assert condition(cluster, "q", "Ready") == "True"


def test_an_edit_of_a_plan_that_never_ran_starts_from_the_beginning() -> None:
    cluster, town = FakeCluster(), one_query()
    it = loop(town, cluster)
    it.once()
    cluster.processes.clear()
    town.queries["default/q"] = desired(query("q", "s.k = 2"))
    settle(it)
    packed = cluster.placements["default/q"].spec["plan"]
    assert (packed["since"], packed["leaving"]) == (0, [])
    assert len(cluster.running()) == len(packed["told"])


def test_a_second_edit_waits_until_the_first_is_through() -> None:
    cluster, town = FakeCluster(), one_query()
    it = loop(town, cluster)
    settle(it)
    cuts = []
    for k in (2, 3):
        town.queries["default/q"] = desired(query("q", f"s.k = {k}"))
        for _ in range(2):
            it.once()
    while cluster.placements["default/q"].spec["revision"] < 3:
        cuts.append(cluster.placements["default/q"].spec["plan"]["since"])
        it.once()
    settle(it)
    packed = cluster.placements["default/q"].spec["plan"]
    first = next(cut for cut in cuts if cut)
    assert packed["since"] > first > 0
    assert "s.k = 3" in {op.get("predicate") for op in packed["placed"]["query"]["operators"]}
    assert len(cluster.processes) == len(packed["told"])


def test_an_edit_while_suspended_goes_through_the_cut_when_it_is_resumed() -> None:
    cluster, town = FakeCluster(), one_query()
    it = loop(town, cluster)
    settle(it)
    old = set(cluster.leases)
    town.queries["default/q"] = replace(town.queries["default/q"], suspended=True)
    settle(it)
    town.queries["default/q"] = desired(query("q", "s.k = 2"), suspended=True)
    settle(it)
    assert not cluster.processes
    town.queries["default/q"] = desired(query("q", "s.k = 2"))
    settle(it)
    assert cluster.placements["default/q"].spec["plan"]["since"] > 0
    assert not set(cluster.leases) & old
    assert all(cluster.writers[name] == [1, 2] for name in old), "the old plan ran once more, up to the cut"


def test_an_edit_after_the_end_of_a_finite_input_adds_nothing() -> None:
    """All rows were the old plan's: the new one begins behind the last."""
    cluster, town = FakeCluster(), one_query()
    it = loop(town, cluster)
    settle(it)
    for key, process in cluster.processes.items():
        cluster.processes[key] = replace(process, state="finished")
    town.queries["default/q"] = desired(query("q", "s.k = 2"))
    settle(it)
    assert cluster.placements["default/q"].spec["plan"]["since"] == FOREVER
