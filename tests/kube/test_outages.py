"""The API server goes away and comes back, on a simulated clock: who could not be heard is not silent."""

from __future__ import annotations

from typing import cast

import pytest
from weir_operator.controller.observed_state import Process
from weir_operator.controller.times import micro_time, timestamp
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError, NoAnswer
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.leader import Leader
from weir_operator.kube.liveness import CANARY_SECONDS, Liveness
from weir_operator.kube.runner import Runner
from weir_operator.kube.settings import OperatorSettings

from tests.kube.manual_clock import ManualClock
from tests.kube.memory import Manifest, Memory
from tests.kube.test_leader import OneLease

BEGIN = 1767225600.0
EVERY = 3.0  # [s] between renewals


class SimulatedDriver:
    """One ready driver that renews its lease while the API server answers; the operator looks every 5 s."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.away = False
        self.renews = True
        self.memory = Memory(driver())
        self.memory.refuse = self._refuse
        self.cluster = KubernetesCluster(self.memory.api, OperatorSettings(), lambda: self.now)

    def _refuse(self, *_: str) -> None:
        if self.away:
            raise NoAnswer("connection refused")

    def look(self) -> Process | None:
        """Five seconds later; None when nobody answers."""
        self.now += 5.0
        if self.renews and not self.away:
            self.memory.put(lease(self.now - self.now % EVERY))
        try:
            (process,) = self.cluster.observe().processes
        except ApiError:
            return None
        return process


def driver() -> Manifest:
    labels = {names.MANAGED_BY: "weir", names.ROLE: "driver", names.FRAGMENT: "f", names.EPOCH: "1"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": timestamp(BEGIN - 60)}
    container = {"name": "driver", "ready": True, "state": {"running": {"startedAt": timestamp(BEGIN - 90)}}}
    meta = {"namespace": "a", "name": "f-e1", "labels": labels, "creationTimestamp": timestamp(BEGIN - 99)}
    return {
        "kind": "Pod",
        "metadata": {**meta, "annotations": {names.NODE: "n1", names.FRAGMENT: "f"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "driver"}]},
        "status": {"phase": "Running", "conditions": [ready], "containerStatuses": [container]},
    }


def lease(renewed: float) -> Manifest:
    labels = {names.MANAGED_BY: "weir", names.FRAGMENT: "f"}
    spec = {
        "holderIdentity": "f-e1:1:1",
        "leaseTransitions": 1,
        "renewTime": micro_time(renewed),
        "leaseDurationSeconds": 10,
    }
    return {"kind": "Lease", "metadata": {"namespace": "a", "name": "f", "labels": labels}, "spec": spec}


@pytest.mark.parametrize("seconds", [10, 60, 165, 300])
def test_after_an_outage_nobody_was_silent(seconds: int) -> None:
    simulated = SimulatedDriver()
    simulated.memory.put({"kind": "Node", "metadata": {"name": "n1"}, "status": READY_NODE})
    for _ in range(4):
        assert simulated.look().state == "running"  # type: ignore[union-attr]
    simulated.away = True
    for _ in range(seconds // 5):
        assert simulated.look() is None
    simulated.away, simulated.renews = False, False  # the driver's next try is still to come
    back = simulated.look()
    assert back is not None
    assert (back.state, back.no_room, back.silent) == ("running", False, False)
    simulated.renews = True
    for _ in range(4):
        assert simulated.look().state == "running"  # type: ignore[union-attr]


def test_a_replica_that_did_not_look_for_long_judges_by_what_it_sees_from_now_on() -> None:
    simulated = SimulatedDriver()
    simulated.memory.put({"kind": "Node", "metadata": {"name": "n1"}, "status": READY_NODE})
    simulated.look()
    simulated.now += 600.0  # another one led
    simulated.renews = False
    assert simulated.look().state == "running"  # type: ignore[union-attr]
    states = [simulated.look() for _ in range(4)]
    assert [s.silent for s in states if s] == [False, False, True, True]


def test_a_driver_that_stops_renewing_is_silent_after_its_lease_also_in_slow_rounds() -> None:
    simulated = SimulatedDriver()
    simulated.memory.put({"kind": "Node", "metadata": {"name": "n1"}, "status": READY_NODE})
    silent = []
    for i in range(8):
        simulated.now += 55.0  # a round of a large cluster takes a minute
        simulated.renews = i < 4
        silent.append(simulated.look().silent)  # type: ignore[union-attr]
    assert silent[:4] == [False] * 4
    assert silent[-1] is True


READY_NODE = {"conditions": [{"type": "Ready", "status": "True"}]}


def test_an_outage_restarts_no_replica_and_a_silent_watch_still_does() -> None:
    api, clock = OneLease(), ManualClock()
    liveness, lost = Liveness(clock), []
    leader = Leader(cast(Api, api), "weir", "a", clock)
    runner = Runner(NoRounds(), leader, liveness, lost=lambda: lost.append(clock.now))
    led = runner.ask(False)
    assert led
    liveness.renewal_watched()
    api.reachable = False
    for _ in range(60):
        clock.now += 5.0
        liveness.round_ended()
        led = runner.ask(led)
    assert (led, liveness.complaint(), lost) == (False, "", [])
    api.reachable = True
    led = runner.ask(led)
    assert led
    clock.now += CANARY_SECONDS + 1
    liveness.round_ended()
    runner.ask(led)
    assert "watches" in liveness.complaint()


def test_a_replica_that_another_has_overtaken_ends() -> None:
    api, clock = OneLease(), ManualClock()
    lost: list[float] = []
    leader = Leader(cast(Api, api), "weir", "a", clock)
    runner = Runner(NoRounds(), leader, Liveness(clock), lost=lambda: lost.append(clock.now))
    led = runner.ask(False)
    Leader(cast(Api, api), "weir", "b", clock).usurp(60)
    assert not runner.ask(led)
    assert lost == [0.0]


class NoRounds:
    def round(self) -> float:
        return 60.0
