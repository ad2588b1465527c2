"""What stays of a deleted query, for how long, and how a new one takes it up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from weir_operator.controller.loop import Loop
from weir_placement.model.change import Change

from tests.controller.fake_cluster import Crash
from tests.controller.objects import ObjectCluster, manifest, node, object_loop, query, stream
from tests.controller.scenario import FakeExchange, settle

DAY = 86_400.0
FIRST, SECOND = "0d6b5a9e-0000-4000-8000-000000000001", "77aa5a9e-0000-4000-8000-000000000002"
KEPT = "default/q.0d6b5a9e"


def asked(uid: str, **spec: Any) -> dict[str, Any]:
    """The query as it is applied; `spec` has further fields."""
    raw = query("q", "s")
    return {**raw, "metadata": {**raw["metadata"], "uid": uid}, "spec": {**raw["spec"], **spec}}


class DeletedQueryScenario:
    """A cluster in which one query runs."""

    def __init__(self, **spec: Any) -> None:
        self.cluster = ObjectCluster(time=960.0)
        self.others = [node("n1"), node("n2"), stream("s", "n1")]
        self.exchange = FakeExchange()
        self.apply(asked(FIRST, **spec))
        self.loop = self.controller()
        settle(self.loop)
        self.exchange.folders = set(self.cluster.leases)

    def controller(self) -> Loop:
        loop = object_loop(self.cluster)
        loop.exchange = self.exchange
        return loop

    def apply(self, *queries: dict[str, Any]) -> None:
        self.cluster.objects = [*self.others, *queries]

    def delete(self, garbage_collected: bool = True) -> None:
        """As in a cluster, leases go with the Placement that owns them."""
        self.apply()
        settle(self.loop)
        if garbage_collected:
            self.cluster.leases.clear()

    def rounds(self, number: int) -> None:
        for _ in range(number):
            self.loop.once()

    def running(self) -> dict[str, int]:
        return {f: epoch for (f, epoch), p in self.cluster.processes.items() if p.state == "running"}

    def ready(self) -> tuple[str, str]:
        condition = self.cluster.condition("q", "Ready")
        return condition["status"], condition["message"]


def test_a_deleted_query_leaves_nothing_when_it_says_so() -> None:
    scenario = DeletedQueryScenario(deletionPolicy="Delete")
    fragments = set(scenario.cluster.leases)
    scenario.delete(garbage_collected=False)
    assert not scenario.cluster.placements
    assert not scenario.cluster.processes
    assert set(scenario.cluster.forgotten) == fragments
    scenario.rounds(70)
    assert not scenario.exchange.folders


def test_its_policy_may_keep_nothing() -> None:
    scenario = DeletedQueryScenario(policy="brief")
    assert not scenario.cluster.leases
    policy = manifest("PlacementPolicy", "brief", {"retention": {"deletedQueries": "0s"}})
    scenario.others.append(policy)
    scenario.apply(asked(FIRST, policy="brief", deletionPolicy="Retain"))
    settle(scenario.loop)
    scenario.delete()
    assert not scenario.cluster.placements


def test_checkpoints_and_flows_stay_for_a_day_and_then_go() -> None:
    scenario = DeletedQueryScenario()
    folders = set(scenario.exchange.folders)
    scenario.delete(garbage_collected=False)
    assert not scenario.cluster.processes
    (kept,) = scenario.cluster.placements.values()
    assert kept.query == KEPT
    assert kept.spec["retained"]["query"] == "q"
    assert kept.spec["retained"]["uid"] == FIRST
    assert {fragment["name"] for fragment in kept.spec["fragments"]} == folders
    assert [e.reason for e in scenario.cluster.events].count("Retained") == 1
    scenario.rounds(130)
    assert scenario.exchange.folders == folders
    assert not scenario.cluster.forgotten
    scenario.cluster.time += DAY
    scenario.rounds(70)
    assert not scenario.cluster.placements
    assert set(scenario.cluster.forgotten) == folders
    assert not scenario.cluster.leases
    assert not scenario.exchange.folders


def test_a_query_of_the_same_name_takes_nothing_up_in_silence() -> None:
    scenario = DeletedQueryScenario()
    before = set(scenario.running())
    scenario.delete()
    scenario.apply(asked(SECOND))
    settle(scenario.loop)
    assert scenario.ready()[0] == "True"
    assert scenario.running()
    assert not before & set(scenario.running())
    assert set(scenario.cluster.placements) == {"default/q", KEPT}
    scenario.rounds(130)
    assert before <= scenario.exchange.folders


@pytest.mark.parametrize("seen", [True, False])
def test_a_query_that_is_deleted_and_applied_at_once_begins_anew(seen: bool) -> None:
    """Whether or not a round saw that it was gone: it is no edit, with rows of both up to a cut."""
    scenario = DeletedQueryScenario()
    before = set(scenario.running())
    if seen:
        scenario.apply()
        scenario.loop.once()
    scenario.apply(asked(SECOND))
    settle(scenario.loop)
    packed = scenario.cluster.placements["default/q"].spec["plan"]
    assert (packed["since"], packed["leaving"]) == (0, [])
    assert scenario.running()
    assert not before & set(scenario.running())
    assert not {name for name, _ in scenario.cluster.processes} & before


@pytest.mark.parametrize("leases_gone", [True, False])
@pytest.mark.parametrize("name", [FIRST, "q"])
def test_restore_from_takes_it_up(name: str, leases_gone: bool) -> None:
    """The same fragments, hence checkpoints and flows; their epochs only rise, also where leases are gone."""
    scenario = DeletedQueryScenario()
    before, plan = scenario.running(), scenario.cluster.placements["default/q"].spec["plan"]
    scenario.delete(leases_gone)
    scenario.apply(asked(SECOND, restoreFrom={"retained": name}))
    settle(scenario.loop)
    assert scenario.ready()[0] == "True"
    now = scenario.running()
    assert now.keys() == before.keys()
    assert all(now[fragment] > before[fragment] for fragment in now)
    (placement,) = scenario.cluster.placements.values()
    assert placement.query == "default/q"
    assert placement.spec["plan"]["told"] == plan["told"]
    assert [e.reason for e in scenario.cluster.events].count("Restored") == 1
    scenario.rounds(130)
    assert scenario.exchange.folders == set(before)
    assert not scenario.cluster.forgotten

    # it goes on so without restoreFrom, and when it is deleted again, its state is kept under the second uid
    scenario.apply(asked(SECOND))
    settle(scenario.loop)
    assert scenario.running() == now
    scenario.delete(leases_gone)
    third = FIRST.replace("0d6b", "1111")
    scenario.apply(asked(third, restoreFrom={"retained": SECOND}))
    settle(scenario.loop)
    assert scenario.running().keys() == before.keys()
    assert all(epoch > now[fragment] for fragment, epoch in scenario.running().items())


def test_another_query_text_is_refused_and_the_message_says_what_differs() -> None:
    scenario = DeletedQueryScenario()
    before = scenario.running()
    scenario.delete()
    restore = {"restoreFrom": {"retained": FIRST}}
    scenario.apply(asked(SECOND, sql="SELECT s.k FROM s AS s WHERE s.k > 2", **restore))
    settle(scenario.loop)
    assert not scenario.running()
    status, message = scenario.ready()
    assert status == "False"
    assert "spec.sql" in message
    assert "spec.sink" not in message
    scenario.others[2] = {
        **scenario.others[2],
        "spec": {**scenario.others[2]["spec"], "schema": "k INT, ts TIMESTAMP"},
    }
    scenario.apply(asked(SECOND, **restore))
    settle(scenario.loop)
    assert "Stream default/s differs" in scenario.ready()[1]
    scenario.others[2] = stream("s", "n1")
    scenario.apply(asked(SECOND, **restore))
    settle(scenario.loop)
    assert scenario.running().keys() == before.keys()


def test_what_is_not_there_or_not_clear_is_refused() -> None:
    scenario = DeletedQueryScenario()
    scenario.delete()
    scenario.apply(asked(SECOND, restoreFrom={"retained": "nobody"}))
    settle(scenario.loop)
    assert f"give a uid of: {FIRST}" in scenario.ready()[1]
    scenario.apply(asked(SECOND))
    settle(scenario.loop)
    scenario.apply(asked(SECOND, restoreFrom={"retained": FIRST}))
    settle(scenario.loop)
    assert "began without restored state" in scenario.ready()[1]
    assert scenario.running(), "what runs goes on"
    scenario.delete()
    scenario.apply(asked(FIRST.replace("0d6b", "1111"), restoreFrom={"retained": "q"}))
    settle(scenario.loop)
    assert "more than one" in scenario.ready()[1]
    assert FIRST in scenario.ready()[1]
    assert SECOND in scenario.ready()[1]


def test_processes_of_the_deleted_query_end_first() -> None:
    """One on a node that does not answer may still write."""
    scenario = DeletedQueryScenario()
    (fragment, epoch), process = next(iter(scenario.cluster.processes.items()))
    scenario.cluster.dead_nodes = frozenset({process.node})
    scenario.apply()
    scenario.rounds(5)
    scenario.apply(asked(SECOND, restoreFrom={"retained": FIRST}))
    scenario.rounds(5)
    assert f"still in use: {fragment}" in scenario.ready()[1]
    assert [key for key in scenario.cluster.processes if key[0] == fragment] == [(fragment, epoch)]
    scenario.cluster.dead_nodes = frozenset()
    settle(scenario.loop)
    assert fragment in scenario.running()


def test_a_cut_that_was_agreed_stays() -> None:
    """Deleted in the middle of an edit, with its leases gone: both plans go on with the same cut."""
    scenario = DeletedQueryScenario()
    edited = {"sql": "SELECT s.k FROM s AS s WHERE s.k > 2"}
    scenario.apply(asked(FIRST, **edited))
    while not scenario.cluster.placements["default/q"].spec["plan"]["since"]:
        scenario.loop.once()
    packed = scenario.cluster.placements["default/q"].spec["plan"]
    (last,) = (spec["name"] for spec in packed["leaving"][-1:])
    change = scenario.cluster.leases[last].change
    assert change is not None
    assert not change.passed
    scenario.apply()
    scenario.loop.once()
    scenario.loop.once()
    agreed = Change(change.lead, change.time)
    scenario.cluster.processes.clear()
    scenario.cluster.leases.clear()
    scenario.apply(asked(SECOND, restoreFrom={"retained": FIRST}, **edited))
    changes = set()
    for _ in range(40):
        scenario.loop.once()
        changes |= {
            replace(lease.change, passed=False) for lease in scenario.cluster.leases.values() if lease.change
        }
    assert changes == {agreed}
    now = scenario.cluster.placements["default/q"].spec["plan"]
    assert now["since"] == packed["since"]
    assert now["leaving"] == []
    assert set(scenario.running()) == {spec["name"] for spec in now["told"]}


def test_the_controller_may_be_killed_after_any_write() -> None:
    """While the query is deleted, kept, applied again and taken up: it ends in the same place."""
    restored = asked(SECOND, restoreFrom={"retained": FIRST})
    quiet = DeletedQueryScenario()
    quiet.apply()
    settle(quiet.loop)
    quiet.apply(restored)
    settle(quiet.loop)
    begin = DeletedQueryScenario().cluster.writes
    for crash in range(begin + 1, quiet.cluster.writes + 1):
        scenario = DeletedQueryScenario()
        scenario.cluster.crash_at = crash
        for queries in ((), (restored,)):
            scenario.apply(*queries)
            try:
                settle(scenario.loop)
            except Crash:
                scenario.loop = scenario.controller()
                settle(scenario.loop)
        assert scenario.running().keys() == quiet.running().keys(), crash
        assert set(scenario.cluster.placements) == {"default/q"}, crash
        plans = [p.spec["plan"]["told"] for t in (scenario, quiet) for p in t.cluster.placements.values()]
        assert plans[0] == plans[1], crash
        assert not scenario.cluster.forgotten, crash


def test_what_a_newer_version_keeps_is_neither_read_nor_removed() -> None:
    scenario = DeletedQueryScenario()
    scenario.delete()
    kept = scenario.cluster.placements[KEPT]
    newer = {**kept.spec, "retained": {**kept.spec["retained"], "format": 2}}
    scenario.cluster.placements[KEPT] = replace(kept, spec=newer)
    scenario.cluster.time += 2 * DAY
    scenario.rounds(130)
    assert scenario.cluster.placements[KEPT].spec == newer
    assert scenario.exchange.folders
