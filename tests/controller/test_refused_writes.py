"""What the API server does not let us write is said on the query whose it is, and holds up no other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from weir_operator.controller.decision import Action, HandOver, Protect, WritePlacement, WriteStatus
from weir_operator.controller.ports import Refused

from tests.controller.scenario import (
    FakeCluster,
    Scenario,
    condition,
    desired,
    loop,
    one_query,
    query,
    settle,
)
from tests.controller.test_failed_writes import A, B, queries_of

TOO_LONG = Refused('Placement.weir.dev "a" is invalid: spec.operators: Too many: 300')


@dataclass
class Refusing(FakeCluster):
    """Refuses, while `error` is set, writes of the kinds in `kinds` about query or fragment `about`."""

    error: OSError | None = None
    about: str = A
    kinds: tuple[type, ...] = (WritePlacement,)
    tries: list[object] = field(default_factory=list)

    def _check(self, item: object, subject: str) -> None:
        if self.error and isinstance(item, self.kinds) and subject.startswith(self.about):
            self.tries.append(item)
            raise self.error

    def write_placement(self, placement: Any) -> None:
        self._check(placement, placement.query)
        super().write_placement(placement)

    def write_status(self, status: WriteStatus) -> None:
        self._check(status, f"{status.namespace}/{status.name}")
        super().write_status(status)

    def apply(self, action: Action) -> None:
        self._check(action, getattr(action, "fragment", ""))
        super().apply(action)


def scenario() -> Scenario:
    return Scenario({name: desired(query(name.split("/")[1])) for name in (A, B)})


def told(cluster: FakeCluster, name: str, kind: str) -> dict[str, Any]:
    present = cluster.statuses[f"default/{name}"]["conditions"]
    return next(c for c in present if c["type"] == kind)


def events(cluster: FakeCluster, reason: str) -> list[str]:
    return [f"{e.query}: {e.message}" for e in cluster.events if e.reason == reason and e.warning]


def test_a_refused_placement_is_said_on_its_query_and_taken_back_when_it_is_written() -> None:
    cluster = Refusing(error=TOO_LONG)
    it = loop(scenario(), cluster)
    for _ in range(6):
        it.once()
    stalled = told(cluster, "a", "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "PlacementRefused")
    assert str(TOO_LONG) in stalled["message"]
    assert condition(cluster, "a", "Ready") == "False"
    assert len(events(cluster, "PlacementRefused")) == 1, "once, not in every round"
    assert str(TOO_LONG) in events(cluster, "PlacementRefused")[0]
    assert queries_of(cluster) == {"b"}
    assert condition(cluster, "b", "Ready") == "True"
    cluster.error = None
    settle(it)
    assert condition(cluster, "a", "Stalled") == "False"
    assert condition(cluster, "a", "Ready") == "True"


def test_what_runs_of_a_query_whose_edit_is_refused_is_ready_and_stalled() -> None:
    cluster, it = Refusing(), scenario()
    the_loop = loop(it, cluster)
    settle(the_loop)
    before = dict(cluster.processes)
    cluster.error = TOO_LONG
    it.queries[A] = desired(query("a", "s.k = 2"), generation=2)
    for _ in range(6):
        the_loop.once()
    assert cluster.processes == before
    assert condition(cluster, "a", "Ready") == "True"
    assert told(cluster, "a", "Stalled")["reason"] == "PlacementRefused"


def test_a_query_is_suspended_also_while_its_placement_is_refused() -> None:
    cluster, it = Refusing(), scenario()
    the_loop = loop(it, cluster)
    settle(the_loop)
    cluster.error = TOO_LONG
    it.queries[A] = desired(query("a", "s.k = 3"), generation=2)
    the_loop.once()
    it.queries[A] = desired(query("a", "s.k = 3"), generation=3, suspended=True)
    for _ in range(8):
        the_loop.once()
    assert cluster.tries
    assert queries_of(cluster) == {"b"}
    assert told(cluster, "a", "Stalled")["reason"] == "PlacementRefused"


def test_a_conflict_is_said_when_it_comes_again_and_again() -> None:
    cluster = Refusing(error=OSError("the object has been modified"))
    it = loop(scenario(), cluster)
    it.once()
    it.once()
    assert condition(cluster, "a", "Stalled") == "False", "whoever wrote beside us is gone in the next round"
    for _ in range(4):
        it.once()
    stalled = told(cluster, "a", "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "PlacementRefused")
    assert "has been modified" in stalled["message"]
    assert len(events(cluster, "PlacementRefused")) == 1
    assert condition(cluster, "b", "Ready") == "True"


@pytest.mark.parametrize("kind", [HandOver, Protect])
def test_a_refused_action_is_an_event_on_its_query(kind: type) -> None:
    cluster, it = Refusing(about="q-", kinds=(kind,), error=Refused("no")), one_query()
    the_loop = loop(it, cluster)
    for _ in range(12):
        the_loop.once()
    it.cordoned = frozenset(p.node for p in cluster.processes.values())
    for _ in range(12):
        the_loop.once()
    assert len(cluster.tries) > 2
    fragments = {getattr(item, "fragment", "") for item in cluster.tries}
    texts = events(cluster, "WriteRefused")
    assert len(texts) == len(fragments), "once for each fragment"
    assert all(text.startswith(f"default/q: {kind.__name__}") and "no" in text for text in texts)


def test_a_hand_over_that_is_refused_is_why_a_move_is_late() -> None:
    cluster, it = Refusing(about="q-", kinds=(HandOver,)), one_query()
    the_loop = loop(it, cluster)
    settle(the_loop)
    cluster.error = Refused("leases is forbidden")
    it.cordoned = frozenset(p.node for p in cluster.processes.values())
    for _ in range(8):
        the_loop.once()
    cluster.time += 3600.0
    for _ in range(3):
        the_loop.once()
    assert "leases is forbidden" in told(cluster, "q", "Stalled")["message"]


def test_a_refused_status_is_an_event() -> None:
    cluster = Refusing(error=Refused("status.conditions: invalid"), kinds=(WriteStatus,))
    it = loop(scenario(), cluster)
    for _ in range(6):
        it.once()
    assert len(events(cluster, "WriteRefused")) == 1
    assert "status.conditions: invalid" in events(cluster, "WriteRefused")[0]
    assert queries_of(cluster) == {"a", "b"}, "it runs nevertheless"
