"""The loop within quotas: what starts, what waits and why, and how a move goes where no second pod may be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from weir_operator.controller.decision import Action, Start
from weir_operator.controller.desired_state import DesiredQuery, DesiredState
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.ports import Refused
from weir_placement.model.problem import Budget

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, query, settle


@dataclass
class Guarded(FakeCluster):
    """A cluster that counts processes as a quota on `count/pods` does, and refuses one too many."""

    most: int = 100
    refused: list[str] = field(default_factory=list)

    def apply(self, action: Action) -> None:
        if isinstance(action, Start):
            new = (action.spec.name, action.spec.epoch) not in self.processes
            if new and len(self.processes) >= self.most:
                self.refused.append(action.spec.name)
                raise Refused("exceeded quota")
        super().apply(action)


@dataclass
class Small(Scenario):
    """With a quota on pods; `others` is what other pods use of it."""

    cluster: Guarded = field(default_factory=Guarded)
    others: int = 0

    def desired_state(self, observed: ObservedState, settings: object) -> DesiredState:
        state = super().desired_state(observed, settings)  # type: ignore[arg-type]
        planned = {name for name, query in self.queries.items() if not query.suspended}
        ending = sum(f"default/{p.fragment.split('-')[0]}" not in planned for p in observed.processes)
        left = float(self.cluster.most - self.others - ending)
        budget = Budget(
            "pods of ResourceQuota default/small", left, self.cluster.most, dict.fromkeys(self.queries, 1.0)
        )
        groups = tuple(replace(g, problem=replace(g.problem, budgets=(budget,))) for g in state.groups)
        return replace(state, groups=groups)


def one(name: str, priority: int = 0, predicate: str = "s.k = 1") -> DesiredQuery:
    """A query of one operator, hence of one fragment."""
    parsed = query(name, predicate)
    return desired(replace(parsed, operators=parsed.operators[:1], priority=priority))


def scenario(most: int, *names: str) -> Small:
    """Queries of one fragment each, the first ones the more important."""
    queries = {f"default/{name}": one(name, -i) for i, name in enumerate(names)}
    return Small(queries, cluster=Guarded(most=most))


def message(it: Small, name: str) -> str:
    present = it.cluster.statuses[f"default/{name}"]["conditions"]
    return str(next(c["message"] for c in present if c["type"] == "Ready"))


def test_what_does_not_fit_is_refused_by_name_and_never_asked_for() -> None:
    it = scenario(2, "a", "b", "c")
    settle(loop(it, it.cluster))
    assert {p.fragment[0] for p in it.cluster.processes.values()} == {"a", "b"}
    assert it.cluster.refused == []
    assert condition(it.cluster, "c", "Stalled") == "True"
    assert condition(it.cluster, "c", "Ready") == "False"
    assert message(it, "c") == (
        "pods of ResourceQuota default/small: 1 needed for at least 1 fragment of 1, 0 left of 2"
    )


def test_a_query_that_is_suspended_leaves_its_share_and_comes_back_when_there_is_room() -> None:
    it = scenario(1, "a", "b")
    the_loop = loop(it, it.cluster)
    settle(the_loop)
    first = it.queries["default/a"]
    it.queries["default/a"] = replace(first, suspended=True)
    settle(the_loop)
    assert condition(it.cluster, "b", "Ready") == "True"
    it.queries["default/a"] = first
    settle(the_loop)
    assert condition(it.cluster, "a", "Ready") == "False", "what runs is not ended for it"
    assert "0 left of 1" in message(it, "a")
    assert {p.fragment[0] for p in it.cluster.processes.values()} == {"b"}
    del it.queries["default/b"]
    settle(the_loop)
    assert condition(it.cluster, "a", "Ready") == "True"
    assert it.cluster.refused == []


def test_a_running_query_goes_on_when_its_quota_shrinks() -> None:
    it = scenario(2, "a")
    the_loop = loop(it, it.cluster)
    settle(the_loop)
    it.others = 2
    settle(the_loop)
    assert condition(it.cluster, "a", "Ready") == "True"
    assert len(it.cluster.processes) == 1


def moved(it: Small, **settings: object) -> None:
    """The only node of the query is cordoned, until all is quiet again."""
    the_loop = loop(it, it.cluster, **settings)
    settle(the_loop)
    (process,) = it.cluster.processes.values()
    it.cordoned = frozenset({process.node})
    settle(the_loop)
    (now,) = it.cluster.processes.values()
    assert now.node not in it.cordoned
    assert now.state == "running"
    assert condition(it.cluster, "a", "Ready") == "True"


def test_a_move_is_warm_where_a_second_pod_may_be() -> None:
    it = scenario(2, "a")
    moved(it)
    assert "Stop" not in it.cluster.log[: it.cluster.log.index("HandOver")]
    assert it.cluster.refused == []


def test_a_move_makes_room_first_where_none_may_be() -> None:
    it = scenario(1, "a")
    moved(it)
    assert it.cluster.refused == []


def test_a_lost_node_s_pod_is_told_to_end_and_replaced_when_it_no_longer_counts() -> None:
    it = scenario(1, "a")
    the_loop = loop(it, it.cluster)
    settle(the_loop)
    (key,) = it.cluster.processes
    node = it.cluster.processes[key].node
    it.lost = it.cluster.dead_nodes = frozenset({node})
    for _ in range(5):
        the_loop.once()
    assert it.cluster.processes[key].terminating
    assert it.cluster.refused, "the API server counts it until its grace is over"
    del it.cluster.processes[key]
    for _ in range(15):
        the_loop.once()
    assert [p.state for p in it.cluster.processes.values()] == ["running"]


@pytest.mark.parametrize(("most", "goes"), [(2, True), (1, False)])
def test_an_edit_needs_room_beside_the_plan_that_runs(most: int, goes: bool) -> None:
    it = scenario(most, "a")
    the_loop = loop(it, it.cluster)
    settle(the_loop)
    it.queries["default/a"] = one("a", predicate="s.k = 2")
    settle(the_loop)
    assert condition(it.cluster, "a", "Ready") == "True"
    assert it.cluster.placements["default/a"].spec["revision"] == (2 if goes else 1)
    assert condition(it.cluster, "a", "Stalled") == str(not goes)
    assert it.cluster.refused == []
