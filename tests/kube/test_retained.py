"""Placements of deleted queries in a cluster: they stay when their query goes, and keep its files."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.controller.decision import DeletePlacement, RestoreLease, WritePlacement
from weir_operator.kube.ownership import namespaces_of_fragments
from weir_operator.kube.sweeper import fragments_by_namespace
from weir_operator.kube.uninstall import remove_everything
from weir_placement.model.change import Change

from tests.kube.memory import Memory
from tests.kube.test_cluster import cluster, query

FRAGMENTS = [{"name": "f1", "node": "n1", "hash": "1", "operators": []}]


def plan(**more: Any) -> WritePlacement:
    return WritePlacement("a/q", {"revision": 1, "fragments": FRAGMENTS, **more}, {"ready": "0/1"})


def owners(memory: Memory, name: str) -> list[Any]:
    return list(memory.objects["Placement", "a", name]["metadata"].get("ownerReferences") or [])


def test_only_what_is_not_to_stay_goes_with_its_query() -> None:
    memory = Memory(query("a"))
    adapter = cluster(memory)
    adapter.observe()
    adapter.write_placement(plan())
    assert [owner["kind"] for owner in owners(memory, "q")] == ["StreamQuery"]
    other = Memory(query("a"))
    adapter = cluster(other)
    adapter.observe()
    adapter.write_placement(plan(owner={"uid": "u", "retain": 60.0}))
    assert owners(other, "q") == []


def test_what_is_kept_is_written_without_its_query_and_its_fragments_are_not_swept() -> None:
    memory = Memory(query("a"))
    adapter = cluster(memory)
    adapter.observe()
    adapter.write_placement(plan(owner={"uid": "u", "retain": 60.0}))
    del memory.objects["StreamQuery", "a", "q"]
    adapter.observe()
    kept = {"query": "q", "uid": "u", "deleted": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}
    adapter.write_placement(
        WritePlacement("a/q.1234", {"revision": 1, "fragments": FRAGMENTS, "retained": kept}, {})
    )
    adapter.write_placement(DeletePlacement("a/q"))
    placements = [o for o in memory.objects.values() if o["kind"] == "Placement"]
    assert memory.names("Placement") == {"q.1234"}
    assert owners(memory, "q.1234") == []
    assert fragments_by_namespace(placements, []) == {"a": frozenset({"f1"})}
    assert namespaces_of_fragments(placements) == {"f1": "a"}


def test_a_lease_comes_back_with_its_epoch_and_its_cut() -> None:
    memory = Memory(query("a"))
    adapter = cluster(memory)
    adapter.observe()
    adapter.write_placement(plan())
    change = Change(20.0, 123, passed=True)
    adapter.apply(RestoreLease("f1", "a/q", 7, change))
    lease = adapter.observe().leases["f1"]
    assert (lease.epoch, lease.released, lease.handover, lease.change) == (7, True, None, change)
    adapter.apply(RestoreLease("f1", "a/q", 1, None))
    assert adapter.observe().leases["f1"].epoch == 7, "one that is there stays"


def test_everything_is_uninstalled_with_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    crd = {"kind": "CustomResourceDefinition", "metadata": {"name": "p"}, "spec": {"group": "weir.dev"}}
    memory = Memory(query("a"), crd, {"kind": "Placement", "metadata": {"namespace": "a", "name": "q.1234"}})
    monkeypatch.setattr("weir_operator.kube.uninstall.QUIET", 0.0)
    lines: list[str] = []
    remove_everything(memory.api, 5.0, lines.append)
    assert not memory.objects
    assert "placement/q.1234 removed from a" in lines
