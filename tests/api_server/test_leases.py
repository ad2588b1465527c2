"""Leases: of two who write over the same version one wins."""

from __future__ import annotations

import pytest
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.leader import DURATION, LEADER_LEASE, Leader

from tests.api_server.api_under_test import ApiUnderTest, manifest
from tests.api_server.kubelet import DriversLease
from tests.kube.manual_clock import ManualClock


def replica(target: ApiUnderTest, name: str, clock: ManualClock, api: Api | None = None) -> Leader:
    return Leader(api or target.api, target.namespace, name, clock)


def test_one_replica_leads_and_another_follows_when_it_is_silent(target: ApiUnderTest) -> None:
    clock = ManualClock(1000.0)
    a, b = replica(target, "a", clock), replica(target, "b", clock)
    assert a.campaign()
    assert not b.campaign()
    clock.now += DURATION - 1
    assert a.campaign()
    clock.now += DURATION - 1
    assert not b.campaign(), "it has been renewed meanwhile"
    clock.now += DURATION + 1
    assert b.campaign()
    assert not a.campaign()
    b.resign()
    assert a.campaign()


def test_of_two_that_take_a_free_lease_at_once_one_wins(target: ApiUnderTest) -> None:
    clock = ManualClock(1000.0)
    gone = replica(target, "gone", clock)
    assert gone.campaign()
    gone.resign()

    class Crossing:
        """Another replica takes the lease between reading it and writing it."""

        def __getattr__(self, verb: str) -> object:
            return getattr(target.api, verb)

        def get(self, kind: str, namespace: str, name: str) -> object:
            lease = target.api.get(kind, namespace, name)
            assert winner.campaign()
            return lease

    winner, late = replica(target, "winner", clock), replica(target, "late", clock, Crossing())  # type: ignore[arg-type]
    assert not late.campaign()
    assert winner.leads()
    lease = target.api.get("Lease", target.namespace, LEADER_LEASE) or {}
    assert lease["spec"]["holderIdentity"] == "winner"


def test_a_fragments_lease_goes_from_epoch_to_epoch_by_the_drivers_own_code(target: ApiUnderTest) -> None:
    target.api.apply(manifest("Lease", target.namespace, "f", metadata={"labels": {"kept": "yes"}}))
    old, new, operator = (DriversLease(target.admin, target.namespace, "f") for _ in range(3))
    assert old.read() is None
    assert old.acquire(1, "old:1:1", 10.0)
    assert not DriversLease(target.admin, target.namespace, "f").acquire(1, "thief:1:1", 10.0)
    operator.hand_over(2)
    assert not new.acquire(2, "new:1:1", 10.0), "the old one has not released it"
    assert old.release(1, "old:1:1")
    new = DriversLease(target.admin, target.namespace, "f")
    assert new.acquire(2, "new:1:1", 10.0)
    assert not old.renew(1, "old:1:1")
    stored = target.api.get("Lease", target.namespace, "f") or {}
    assert stored["metadata"]["labels"] == {"kept": "yes"}
    assert (stored["spec"]["leaseTransitions"], stored["spec"]["holderIdentity"]) == (2, "new:1:1")


def test_applying_a_lease_again_leaves_its_holder(target: ApiUnderTest) -> None:
    """A start may be applied twice."""
    bare = manifest("Lease", target.namespace, "f", metadata={"labels": {"a": "b"}})
    target.api.apply(bare)
    holder = DriversLease(target.admin, target.namespace, "f")
    assert holder.acquire(3, "three:1:1", 10.0)
    target.api.apply(bare)
    assert holder.renew(3, "three:1:1")


@pytest.mark.parametrize("spec", [{"leaseDurationSeconds": 0}, {"leaseTransitions": -1}])
def test_a_lease_of_no_length_is_refused(target: ApiUnderTest, spec: dict[str, int]) -> None:
    with pytest.raises(ApiError) as refused:
        target.api.apply(manifest("Lease", target.namespace, "f", spec=spec))
    assert refused.value.status == 422
