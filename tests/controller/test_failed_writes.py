"""What cannot be written about one query keeps nobody from the others; what is not ours to write stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from weir_operator.controller.decision import Action, Start, WritePlacement, WriteStatus
from weir_operator.controller.ports import Gone, Refused, Unreachable

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

A, B = "default/a", "default/b"


@dataclass
class Picky(FakeCluster):
    """Refuses what `refuse` raises for: writes of a query by its name."""

    refuse: Callable[[str], None] = field(default=lambda query: None)

    def write_placement(self, placement: Any) -> None:
        self.refuse(placement.query)
        super().write_placement(placement)

    def write_status(self, status: WriteStatus) -> None:
        self.refuse(f"{status.namespace}/{status.name}")
        super().write_status(status)

    def apply(self, action: Action) -> None:
        self.refuse(getattr(action, "query", ""))
        super().apply(action)


def scenario() -> Scenario:
    return Scenario({name: desired(query(name.split("/")[1])) for name in (A, B)})


def refusing(error: OSError, *queries: str) -> Callable[[str], None]:
    def refuse(name: str) -> None:
        if name in queries:
            raise error

    return refuse


@pytest.fixture(params=[None, 4], ids=["one by one", "at the same time"])
def pool(request: pytest.FixtureRequest) -> Iterator[ThreadPoolExecutor | None]:
    if request.param is None:
        yield None
    else:
        with ThreadPoolExecutor(request.param) as pool:
            yield pool


def queries_of(cluster: FakeCluster) -> set[str]:
    return {name.split("-")[0] for name, _ in cluster.processes}


@pytest.mark.parametrize("error", [OSError("quota"), Gone("its namespace is being terminated")], ids=str)
def test_a_query_that_cannot_be_written_does_not_hold_up_the_others(
    error: OSError, pool: ThreadPoolExecutor | None
) -> None:
    cluster = Picky(refuse=refusing(error, A))
    it = loop(scenario(), cluster)
    it.pool = pool
    for _ in range(10):
        it.once()
    assert queries_of(cluster) == {"b"}, "and nothing of the other runs without its intent"
    cluster.refuse = refusing(error)
    settle(it)
    assert queries_of(cluster) == {"a", "b"}


def test_a_running_query_is_left_alone_while_its_intent_cannot_be_written() -> None:
    cluster, it = Picky(), scenario()
    the_loop = loop(it, cluster)
    settle(the_loop)
    before = {key: p for key, p in cluster.processes.items() if key[0].startswith("a-")}
    nodes = {p.planned_node for p in before.values()}
    cluster.refuse = refusing(OSError("no"), A)
    it.cordoned = frozenset(nodes)
    for _ in range(10):
        the_loop.once()
    assert {key: p for key, p in cluster.processes.items() if key[0].startswith("a-")} == before
    cluster.refuse = refusing(OSError("no"))
    settle(the_loop)
    assert not nodes & {p.planned_node for k, p in cluster.processes.items() if k[0].startswith("a-")}


def test_when_nobody_answers_the_round_ends_and_a_later_one_goes_on() -> None:
    cluster = Picky(refuse=refusing(Unreachable("no answer"), A))
    it = loop(scenario(), cluster)
    with pytest.raises(Unreachable):
        it.once()
    assert cluster.writes == 0, "nothing else is tried: each try may take its whole time-out"
    cluster.refuse = refusing(Unreachable(""))
    settle(it)
    assert queries_of(cluster) == {"a", "b"}


def test_a_round_that_outlives_its_lead_writes_nothing_more() -> None:
    cluster = FakeCluster()
    it = loop(scenario(), cluster)
    it.leads = lambda: cluster.writes < 2
    with pytest.raises(OSError, match="no longer leads"):
        it.once()
    assert cluster.writes == 2
    successor = loop(scenario(), cluster)
    settle(successor)
    assert queries_of(cluster) == {"a", "b"}
    assert all(len(epochs) == 1 for epochs in cluster.writers.values())


def test_what_stays_wrong_is_told_once() -> None:
    cluster = FakeCluster()
    it = loop(scenario(), cluster)
    settle(it)
    cluster.put_elsewhere()
    for _ in range(20):
        it.once()
    events = [event for event in cluster.events if event.reason == "OffItsPin"]
    assert len(events) == 1


def test_a_start_that_is_refused_is_told_once_for_each_reason() -> None:
    cluster = FakeCluster()
    it = loop(one_query(), cluster)
    applied = cluster.apply

    def refuse(action: Action) -> None:
        if isinstance(action, Start):
            raise Refused("exceeded quota")
        applied(action)

    cluster.apply = refuse  # type: ignore[method-assign]
    for _ in range(3):
        it.once()
    events = [e for e in cluster.events if e.reason == "StartRefused"]
    assert len(events) == len({e.message for e in events}) >= 1
    assert all("exceeded quota" in e.message and e.warning for e in events)
    cluster.apply = applied  # type: ignore[method-assign]
    settle(it)
    assert it.failed.refusals() == {}
    assert condition(cluster, "q", "Ready") == "True"


def test_an_intent_is_written_before_anything_of_it_is_done() -> None:
    order: list[str] = []
    cluster = FakeCluster()
    write, apply = cluster.write_placement, cluster.apply
    cluster.write_placement = lambda p: (order.append(f"intent {p.query}"), write(p))[1]  # type: ignore[method-assign]
    cluster.apply = lambda a: (order.append(f"act {getattr(a, 'query', '')}"), apply(a))[1]  # type: ignore[method-assign]
    it = loop(scenario(), cluster)
    it.once()
    assert {type(p) for p in it.last.placements} == {WritePlacement}
    for name in (A, B):
        assert order.index(f"intent {name}") < order.index(f"act {name}")
