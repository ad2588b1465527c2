"""Leader election between replicas over one Lease with optimistic concurrency."""

from __future__ import annotations

from typing import Any, cast

from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.leader import DURATION, Leader

from tests.kube.manual_clock import ManualClock


class OneLease:
    """The part of the API that leader election uses."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.reachable = True

    def get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        self._answer()
        return self.lease

    def create(self, manifest: dict[str, Any]) -> bool:
        self._answer()
        if self.lease is not None:
            return False
        self._store(manifest)
        return True

    def replace(self, manifest: dict[str, Any]) -> None:
        self._answer()
        if manifest["metadata"].get("resourceVersion") != str(self.version):
            raise ApiError(409, "conflict")
        self._store(manifest)

    def _store(self, manifest: dict[str, Any]) -> None:
        self.version += 1
        meta = {**manifest["metadata"], "resourceVersion": str(self.version)}
        self.lease = {**manifest, "metadata": meta}

    def _answer(self) -> None:
        if not self.reachable:
            raise ApiError(0, "no answer")


def replicas() -> tuple[OneLease, ManualClock, Leader, Leader]:
    api, clock = OneLease(), ManualClock(1000.0)
    leaders = [Leader(cast(Api, api), "weir", name, clock) for name in ("a", "b")]
    return api, clock, leaders[0], leaders[1]


def test_one_leads_and_goes_on_leading() -> None:
    _, clock, a, b = replicas()
    for _ in range(10):
        assert a.campaign()
        assert not b.campaign()
        clock.now += 5
    assert a.leads() is True


def test_a_dead_leader_is_followed_after_its_lease_and_not_before() -> None:
    _, clock, a, b = replicas()
    assert a.campaign()
    assert not b.campaign()
    clock.now += DURATION - 1
    assert not b.campaign()
    assert not a.leads()  # stopped acting before another may begin
    clock.now += 2
    assert b.campaign()
    assert not a.campaign()


def test_a_leader_that_resigns_is_followed_at_once() -> None:
    _, _, a, b = replicas()
    assert a.campaign()
    a.resign()
    assert not a.leads()
    assert b.campaign()


def test_a_leader_without_an_answer_stops_before_its_lease_ends() -> None:
    api, clock, a, _ = replicas()
    assert a.campaign()
    api.reachable = False
    clock.now += DURATION * 2 / 3 - 0.1
    assert a.campaign()
    clock.now += 0.2
    assert not a.campaign()


def test_of_two_that_take_it_at_once_one_wins() -> None:
    api, clock, a, b = replicas()
    assert a.campaign()
    assert not b.campaign()
    clock.now += DURATION + 1
    read = dict(cast(dict[str, Any], api.lease))
    assert a.campaign()
    api_get, api.get = api.get, lambda *_: read  # type: ignore[method-assign]
    assert not b.campaign()
    api.get = api_get  # type: ignore[method-assign]
    assert a.leads()
    assert not b.leads()
