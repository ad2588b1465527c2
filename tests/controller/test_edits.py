"""Edits of running queries: the plan before goes on up to a cut, and each row is published by one of both."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_operator.controller.desired_state import DesiredQuery
from weir_operator.controller.loop import Loop
from weir_operator.controller.observed_state import Lease
from weir_placement.model.change import Change
from weir_placement.model.fragment import FOREVER, Output

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, one_query, query, settle


def test_an_edit_hands_over_at_a_cut_and_no_row_is_published_by_both() -> None:
    """The old plan goes on, also when it fails meanwhile, until it has passed the cut; the new one begins
    when the cut is agreed, with another generation's names, and publishes only what lies behind it."""
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    old = set(cluster.leases)
    last = min(old)
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"))
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


def test_what_has_begun_keeps_its_beginning_where_another_version_would_count_it_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is part of its checkpoint's name."""
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"))
    settle(it)
    packed, processes = cluster.placements["default/q"].spec["plan"], dict(cluster.processes)
    monkeypatch.setattr("weir_placement.fragments.horizon", lambda query: 5_000_000)
    settle(loop(scenario, cluster))
    assert cluster.processes == processes
    assert cluster.placements["default/q"].spec["plan"]["told"] == packed["told"]


def test_an_edit_of_a_plan_that_never_ran_starts_from_the_beginning() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    it.once()
    cluster.processes.clear()
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"))
    settle(it)
    packed = cluster.placements["default/q"].spec["plan"]
    assert (packed["since"], packed["leaving"]) == (0, [])
    assert len(cluster.running()) == len(packed["told"])


def put_elsewhere(scenario: Scenario) -> None:
    """An edit of the query's sink."""
    edited = scenario.queries["default/q"]
    ends = replace(edited.ends, sink=Output("files", "/out/another"))
    scenario.queries["default/q"] = replace(edited, ends=ends, source="another sink")


def after_its_first_round() -> tuple[FakeCluster, Scenario, Loop]:
    """A query whose processes have been started."""
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    it.once()
    return cluster, scenario, it


@pytest.mark.parametrize("state", ["starting", "failed"])
def test_an_edit_of_a_plan_that_never_came_up_starts_from_the_beginning(state: str) -> None:
    """An upstream fragment cannot start, so the delivering one waits for its flow, and never has a lease."""
    cluster, scenario, it = after_its_first_round()
    cluster.never_up = {fragment for fragment, _ in cluster.processes}
    for _ in range(5):
        it.once()
        cluster.processes = {k: replace(p, state=state) for k, p in cluster.processes.items()}  # type: ignore[arg-type]
    old = set(cluster.never_up)
    put_elsewhere(scenario)
    settle(it)
    packed = cluster.placements["default/q"].spec["plan"]
    assert (packed["since"], packed["leaving"]) == (0, [])
    assert not {fragment for fragment, _ in cluster.processes} & old
    assert len(cluster.running()) == len(packed["told"])
    assert "has published nothing" in str(cluster.placements["default/q"].status["decisions"])


def test_one_that_takes_its_lease_after_all_publishes_nothing_beside_the_next_plan() -> None:
    """It gets the lease after the controller has looked, before that asks for the cut: its holder answers."""
    cluster, scenario, it = after_its_first_round()
    last = cluster.placements["default/q"].spec["plan"]["told"][-1]["name"]
    cluster.never_up = {last}
    it.once()
    put_elsewhere(scenario)
    lease = Lease(last, 1, "me", cluster.time, 10.0)
    cluster.before_request = lambda: cluster.leases.update({last: lease})
    it.once()
    assert cluster.leases[last].change == Change(20.0), "asked, and not answered for it"


def test_an_edit_of_a_plan_that_is_refused_comes_into_force() -> None:
    """Its processes have the lease, answer, and end with exit code 2, as over a sink with another's rows."""
    cluster, scenario, it = after_its_first_round()
    cluster.cannot_run = {fragment for fragment, _ in cluster.processes}
    for _ in range(5):
        it.once()
    put_elsewhere(scenario)
    settle(it)
    packed = cluster.placements["default/q"].spec["plan"]
    assert (packed["since"], packed["leaving"]) == (0, [])
    assert len(cluster.running()) == len(packed["told"])


def above(predicate: str) -> DesiredQuery:
    """A query of two fragments, of which the upper one does not deliver."""
    whole = query("q", predicate)
    first, second = whole.operators
    operators = (replace(first, nodes=("n1",)), replace(second, nodes=("n2",)))
    return desired(replace(whole, operators=operators))


def edited_in_two_fragments() -> tuple[FakeCluster, Loop, str, str]:
    """In the round of its edit; the names of its upper fragment and of the one that delivers."""
    cluster, scenario = FakeCluster(), Scenario({"default/q": above("s.k = 1")})
    it = loop(scenario, cluster)
    settle(it)
    upper, last = (spec["name"] for spec in cluster.placements["default/q"].spec["plan"]["told"])
    scenario.queries["default/q"] = above("s.k = 2")
    it.once()
    return cluster, it, upper, last


def test_a_fragment_above_the_one_that_delivers_is_told_which_rows_nobody_needs() -> None:
    """It fails at rows later than the cut: its next life reads them no more."""
    cluster, it, upper, last = edited_in_two_fragments()
    assert cluster.leases[upper].change is None
    while (since := cluster.placements["default/q"].spec["plan"]["since"]) is None:
        it.once()
    it.once()
    assert cluster.leases[last].change == Change(20.0, since)
    assert cluster.leases[upper].change == Change(20.0, since)
    settle(it)
    assert {upper, last} <= set(cluster.forgotten)


def test_a_previous_plan_that_gets_no_further_says_why_and_what_one_can_do() -> None:
    cluster, it, upper, last = edited_in_two_fragments()
    cluster.lead = 10_000.0
    while cluster.placements["default/q"].spec["plan"]["since"] is None:
        it.once()
    settle(it)
    (key,) = (key for key in cluster.processes if key[0] == upper)
    cluster.processes[key] = replace(cluster.processes[key], state="failed", message="no room in batch 7")
    it.once()
    [message] = {c["message"] for c in cluster.statuses["default/q"]["conditions"] if c["type"] == "Ready"}
    assert f"{upper} (is failed (no room in batch 7))" in message
    assert "further edits wait" in message
    assert "delete the query and make it again with another sink" in message
    assert last in cluster.leases, "nobody else publishes its rows"


def log_in(scenario: Scenario, secret: str) -> None:
    """The query's stream and its sink are topics, for which it logs in."""
    security = {"protocol": "SASL_SSL", "mechanism": "PLAIN", "secretRef": secret}
    brokers = {"bootstrapServers": "b:9092", "security": security}
    sink = Output("kafka", options={**brokers, "topic": "rows"})
    present = scenario.queries["default/q"]
    ends = replace(present.ends, sources={"s": {"kafka": {**brokers, "topic": "s"}}}, sink=sink)
    scenario.queries["default/q"] = replace(present, ends=ends, source=secret)


def test_an_edit_lets_the_plan_before_it_in_where_it_was_shut_out() -> None:
    """Its Secret is revoked, and it still has rows to publish: the edit is what names the new one."""
    cluster, scenario = FakeCluster(), one_query()
    log_in(scenario, "first")
    it = loop(scenario, cluster)
    settle(it)
    old = {fragment for fragment, _ in cluster.processes}
    cluster.revoked = frozenset({"first"})
    cluster.shut_out = set(cluster.processes)
    cluster.processes = {k: replace(p, state="failed") for k, p in cluster.processes.items()}
    for _ in range(5):
        it.once()
    log_in(scenario, "second")
    for _ in range(15):  # quiet ones among them, until the lease has expired
        it.once()
    settle(it)
    packed = cluster.placements["default/q"].spec["plan"]
    assert packed["since"] > 0
    assert packed["leaving"] == []
    assert not {fragment for fragment, _ in cluster.processes} & old
    assert condition(cluster, "q", "Ready") == "True"


def test_a_second_edit_waits_until_the_first_is_through() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    cuts = []
    for k in (2, 3):
        scenario.queries["default/q"] = desired(query("q", f"s.k = {k}"))
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
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    old = set(cluster.leases)
    scenario.queries["default/q"] = replace(scenario.queries["default/q"], suspended=True)
    settle(it)
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"), suspended=True)
    settle(it)
    assert not cluster.processes
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"))
    settle(it)
    assert cluster.placements["default/q"].spec["plan"]["since"] > 0
    assert not set(cluster.leases) & old
    assert all(cluster.writers[name] == [1, 2] for name in old), "the old plan ran once more, up to the cut"


def finished(scenario: Scenario, cluster: FakeCluster) -> Loop:
    """The loop over the query, whose inputs have ended."""
    it = loop(scenario, cluster)
    settle(it)
    end(cluster)
    settle(it)
    return it


def test_an_edit_after_the_end_is_refused_over_the_rows_that_are_there() -> None:
    """Theirs and its own would stand side by side."""
    cluster, scenario = FakeCluster(), one_query()
    it = finished(scenario, cluster)
    before, processes = cluster.placements["default/q"].spec, dict(cluster.processes)
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"))
    settle(it)
    assert (cluster.placements["default/q"].spec, cluster.processes) == (before, processes)
    (stalled,) = (c for c in cluster.statuses["default/q"]["conditions"] if c["type"] == "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "InputEnded")
    assert "give spec.sink.files another folder or URI" in stalled["message"]
    assert condition(cluster, "q", "Ready") == "True"
    assert [event.reason for event in cluster.events].count("InputEnded") == 1
    scenario.queries["default/q"] = desired(query("q"))
    settle(it)
    assert condition(cluster, "q", "Stalled") == "False"


@pytest.mark.parametrize(
    "sink", [Output("files", "/out/other"), Output("console"), Output("kafka", options={"topic": "rows"})]
)
def test_an_edit_after_the_end_runs_anew_where_its_rows_go_to_another_place(sink: Output) -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = finished(scenario, cluster)
    old = set(cluster.leases)
    edited = desired(query("q", "s.k = 2"))
    ends = replace(edited.ends, sink=sink)
    scenario.queries["default/q"] = replace(edited, ends=ends, source="edited")
    settle(it)
    packed = cluster.placements["default/q"].spec["plan"]
    assert (packed["since"], packed["leaving"], packed["generation"]) == (0, [], 2)
    assert not set(cluster.leases) & old
    assert set(cluster.forgotten) == old
    assert condition(cluster, "q", "Ready") == "True"


def test_what_ends_before_it_agrees_to_the_cut_of_an_edit_has_all_rows() -> None:
    """The new plan begins behind the last, and the query says so."""
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"))
    it.once()
    end(cluster)
    settle(it)
    assert cluster.placements["default/q"].spec["plan"]["since"] == FOREVER
    end(cluster)
    settle(it)
    (ready,) = (c for c in cluster.statuses["default/q"]["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "Finished")
    assert "all rows are those of the previous plan" in ready["message"]


def end(cluster: FakeCluster) -> None:
    """The inputs have ended, for all that runs."""
    cluster.processes = {k: replace(p, state="finished") for k, p in cluster.processes.items()}
