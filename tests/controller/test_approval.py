"""Mode Manual: a person approves one plan, by its hash and for a time, and nothing else comes into force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.loop import Loop
from weir_operator.controller.times import timestamp

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, desired, loop, one_query, query, settle


def manual() -> tuple[Scenario, FakeCluster, Loop]:
    """With a first plan that waits."""
    scenario, cluster = one_query(), FakeCluster()
    scenario.policy = PlacementPolicySpec(mode="Manual")
    it = loop(scenario, cluster)
    settle(it)
    return scenario, cluster, it


def proposed(cluster: FakeCluster) -> dict[str, Any]:
    return dict(cluster.placements["default/q"].status.get("proposed") or {})


def request(cluster: FakeCluster, **fields: Any) -> None:
    """As a person writes it into the Placement."""
    written = cluster.placements["default/q"]
    cluster.placements["default/q"] = replace(written, spec={**written.spec, **fields})


def approve(cluster: FakeCluster, seconds: float = 600.0) -> str:
    plan = str(proposed(cluster)["hash"])
    request(cluster, approval={"plan": plan, "until": timestamp(cluster.time + seconds)})
    return plan


def revision(cluster: FakeCluster) -> int:
    return int(cluster.placements["default/q"].spec["revision"])


def test_the_approved_plan_comes_into_force() -> None:
    _, cluster, it = manual()
    assert not cluster.processes
    plan = proposed(cluster)["hash"]
    assert f"weir approve default/q {plan}" in proposed(cluster)["reason"]
    approve(cluster)
    settle(it)
    assert cluster.running()
    assert not proposed(cluster)


def test_the_next_candidate_of_the_same_number_is_not_adopted_unseen() -> None:
    scenario, cluster, it = manual()
    seen = approve(cluster)
    scenario.queries["default/q"] = desired(query("q", nodes=("n2",)), source="edited")
    settle(it)
    assert not cluster.processes
    waiting = proposed(cluster)
    assert (waiting["revision"], waiting["hash"] != seen) == (1, True)
    assert f"another plan ({seen})" in waiting["reason"]
    approve(cluster)
    settle(it)
    assert set(cluster.running().values()) == {"n2"}


def test_an_approval_expires() -> None:
    _, cluster, it = manual()
    approve(cluster, seconds=30.0)
    cluster.time += 40.0
    settle(it)
    assert not cluster.processes
    assert "expired" in proposed(cluster)["reason"]
    approve(cluster)
    settle(it)
    assert cluster.running()


def test_an_approval_is_used_once() -> None:
    scenario, cluster, it = manual()
    approve(cluster, seconds=1e6)
    settle(it)
    first = cluster.running()
    for cordoned in (frozenset(first.values()), frozenset()):
        scenario.cordoned = cordoned
        settle(it)
    assert revision(cluster) == 1
    assert cluster.running() == first


def test_a_revision_number_approves_nothing_and_is_told_so() -> None:
    _, cluster, it = manual()
    request(cluster, approved=1)
    settle(it)
    assert not cluster.processes
    assert "spec.approved" in proposed(cluster)["reason"]
    assert "no longer read" in proposed(cluster)["reason"]


def test_what_waits_is_said_once() -> None:
    _, cluster, it = manual()
    before = len([e for e in cluster.events if e.reason == "Proposed"])
    for _ in range(5):
        it.once()
    assert len([e for e in cluster.events if e.reason == "Proposed"]) == before == 1
