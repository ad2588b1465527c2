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


class DeletedTown:
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
    town = DeletedTown(deletionPolicy="Delete")
    fragments = set(town.cluster.leases)
    town.delete(garbage_collected=False)
    assert not town.cluster.placements
    assert not town.cluster.processes
    assert set(town.cluster.forgotten) == fragments
    town.rounds(70)
    assert not town.exchange.folders


def test_its_policy_may_keep_nothing() -> None:
    town = DeletedTown(policy="brief")
    assert not town.cluster.leases
    policy = manifest("PlacementPolicy", "brief", {"retention": {"deletedQueries": "0s"}})
    town.others.append(policy)
    town.apply(asked(FIRST, policy="brief", deletionPolicy="Retain"))
    settle(town.loop)
    town.delete()
    assert not town.cluster.placements


def test_checkpoints_and_flows_stay_for_a_day_and_then_go() -> None:
    town = DeletedTown()
    folders = set(town.exchange.folders)
    town.delete(garbage_collected=False)
    assert not town.cluster.processes
    (kept,) = town.cluster.placements.values()
    assert kept.query == KEPT
    assert kept.spec["retained"]["query"] == "q"
    assert kept.spec["retained"]["uid"] == FIRST
    assert {fragment["name"] for fragment in kept.spec["fragments"]} == folders
    assert [e.reason for e in town.cluster.events].count("Retained") == 1
    town.rounds(130)
    assert town.exchange.folders == folders
    assert not town.cluster.forgotten
    town.cluster.time += DAY
    town.rounds(70)
    assert not town.cluster.placements
    assert set(town.cluster.forgotten) == folders
    assert not town.cluster.leases
    assert not town.exchange.folders


def test_a_query_of_the_same_name_takes_nothing_up_in_silence() -> None:
    town = DeletedTown()
    before = set(town.running())
    town.delete()
    town.apply(asked(SECOND))
    settle(town.loop)
    assert town.ready()[0] == "True"
    assert town.running()
    assert not before & set(town.running())
    assert set(town.cluster.placements) == {"default/q", KEPT}
    town.rounds(130)
    assert before <= town.exchange.folders


@pytest.mark.parametrize("seen", [True, False])
def test_a_query_that_is_deleted_and_applied_at_once_begins_anew(seen: bool) -> None:
    """Whether or not a round saw that it was gone: it is no edit, with rows of both up to a cut."""
    town = DeletedTown()
    before = set(town.running())
    if seen:
        town.apply()
        town.loop.once()
    town.apply(asked(SECOND))
    settle(town.loop)
    packed = town.cluster.placements["default/q"].spec["plan"]
    assert (packed["since"], packed["leaving"]) == (0, [])
    assert town.running()
    assert not before & set(town.running())
    assert not {name for name, _ in town.cluster.processes} & before


@pytest.mark.parametrize("leases_gone", [True, False])
@pytest.mark.parametrize("name", [FIRST, "q"])
def test_restore_from_takes_it_up(name: str, leases_gone: bool) -> None:
    """The same fragments, hence checkpoints and flows; their epochs only rise, also where leases are gone."""
    town = DeletedTown()
    before, plan = town.running(), town.cluster.placements["default/q"].spec["plan"]
    town.delete(leases_gone)
    town.apply(asked(SECOND, restoreFrom={"retained": name}))
    settle(town.loop)
    assert town.ready()[0] == "True"
    now = town.running()
    assert now.keys() == before.keys()
    assert all(now[fragment] > before[fragment] for fragment in now)
    (placement,) = town.cluster.placements.values()
    assert placement.query == "default/q"
    assert placement.spec["plan"]["told"] == plan["told"]
    assert [e.reason for e in town.cluster.events].count("Restored") == 1
    town.rounds(130)
    assert town.exchange.folders == set(before)
    assert not town.cluster.forgotten

    # it goes on so without restoreFrom, and when it is deleted again, its state is kept under the second uid
    town.apply(asked(SECOND))
    settle(town.loop)
    assert town.running() == now
    town.delete(leases_gone)
    third = FIRST.replace("0d6b", "1111")
    town.apply(asked(third, restoreFrom={"retained": SECOND}))
    settle(town.loop)
    assert town.running().keys() == before.keys()
    assert all(epoch > now[fragment] for fragment, epoch in town.running().items())


def test_another_query_text_is_refused_and_the_message_says_what_differs() -> None:
    town = DeletedTown()
    before = town.running()
    town.delete()
    restore = {"restoreFrom": {"retained": FIRST}}
    town.apply(asked(SECOND, sql="SELECT s.k FROM s AS s WHERE s.k > 2", **restore))
    settle(town.loop)
    assert not town.running()
    status, message = town.ready()
    assert status == "False"
    assert "spec.sql" in message
    assert "spec.sink" not in message
    town.others[2] = {**town.others[2], "spec": {**town.others[2]["spec"], "schema": "k INT, ts TIMESTAMP"}}
    town.apply(asked(SECOND, **restore))
    settle(town.loop)
    assert "Stream default/s differs" in town.ready()[1]
    town.others[2] = stream("s", "n1")
    town.apply(asked(SECOND, **restore))
    settle(town.loop)
    assert town.running().keys() == before.keys()


def test_what_is_not_there_or_not_clear_is_refused() -> None:
    town = DeletedTown()
    town.delete()
    town.apply(asked(SECOND, restoreFrom={"retained": "nobody"}))
    settle(town.loop)
    assert f"give a uid of: {FIRST}" in town.ready()[1]
    town.apply(asked(SECOND))
    settle(town.loop)
    town.apply(asked(SECOND, restoreFrom={"retained": FIRST}))
    settle(town.loop)
    assert "began without restored state" in town.ready()[1]
    assert town.running(), "what runs goes on"
    town.delete()
    town.apply(asked(FIRST.replace("0d6b", "1111"), restoreFrom={"retained": "q"}))
    settle(town.loop)
    assert "more than one" in town.ready()[1]
    assert FIRST in town.ready()[1]
    assert SECOND in town.ready()[1]


def test_processes_of_the_deleted_query_end_first() -> None:
    """One on a node that does not answer may still write."""
    town = DeletedTown()
    (fragment, epoch), process = next(iter(town.cluster.processes.items()))
    town.cluster.dead_nodes = frozenset({process.node})
    town.apply()
    town.rounds(5)
    town.apply(asked(SECOND, restoreFrom={"retained": FIRST}))
    town.rounds(5)
    assert f"still in use: {fragment}" in town.ready()[1]
    assert [key for key in town.cluster.processes if key[0] == fragment] == [(fragment, epoch)]
    town.cluster.dead_nodes = frozenset()
    settle(town.loop)
    assert fragment in town.running()


def test_a_cut_that_was_agreed_stays() -> None:
    """Deleted in the middle of an edit, with its leases gone: both plans go on with the same cut."""
    town = DeletedTown()
    edited = {"sql": "SELECT s.k FROM s AS s WHERE s.k > 2"}
    town.apply(asked(FIRST, **edited))
    while not town.cluster.placements["default/q"].spec["plan"]["since"]:
        town.loop.once()
    packed = town.cluster.placements["default/q"].spec["plan"]
    (last,) = (spec["name"] for spec in packed["leaving"][-1:])
    change = town.cluster.leases[last].change
    assert change is not None
    assert not change.passed
    town.apply()
    town.loop.once()
    town.loop.once()
    agreed = Change(change.lead, change.time)
    town.cluster.processes.clear()
    town.cluster.leases.clear()
    town.apply(asked(SECOND, restoreFrom={"retained": FIRST}, **edited))
    changes = set()
    for _ in range(40):
        town.loop.once()
        changes |= {
            replace(lease.change, passed=False) for lease in town.cluster.leases.values() if lease.change
        }
    assert changes == {agreed}
    now = town.cluster.placements["default/q"].spec["plan"]
    assert now["since"] == packed["since"]
    assert now["leaving"] == []
    assert set(town.running()) == {spec["name"] for spec in now["told"]}


def test_the_controller_may_be_killed_after_any_write() -> None:
    """While the query is deleted, kept, applied again and taken up: it ends in the same place."""
    restored = asked(SECOND, restoreFrom={"retained": FIRST})
    quiet = DeletedTown()
    quiet.apply()
    settle(quiet.loop)
    quiet.apply(restored)
    settle(quiet.loop)
    begin = DeletedTown().cluster.writes
    for crash in range(begin + 1, quiet.cluster.writes + 1):
        town = DeletedTown()
        town.cluster.crash_at = crash
        for queries in ((), (restored,)):
            town.apply(*queries)
            try:
                settle(town.loop)
            except Crash:
                town.loop = town.controller()
                settle(town.loop)
        assert town.running().keys() == quiet.running().keys(), crash
        assert set(town.cluster.placements) == {"default/q"}, crash
        plans = [p.spec["plan"]["told"] for t in (town, quiet) for p in t.cluster.placements.values()]
        assert plans[0] == plans[1], crash
        assert not town.cluster.forgotten, crash


def test_what_a_newer_version_keeps_is_neither_read_nor_removed() -> None:
    town = DeletedTown()
    town.delete()
    kept = town.cluster.placements[KEPT]
    newer = {**kept.spec, "retained": {**kept.spec["retained"], "format": 2}}
    town.cluster.placements[KEPT] = replace(kept, spec=newer)
    town.cluster.time += 2 * DAY
    town.rounds(130)
    assert town.cluster.placements[KEPT].spec == newer
    assert town.exchange.folders
