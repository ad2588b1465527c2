"""Statuses of streams, profiles, policies and topologies: in order, or what is wrong; and who uses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.decision import WriteStatus
from weir_operator.controller.definitions import definition_statuses
from weir_operator.controller.desired_state import DesiredQuery, DesiredState, Group
from weir_operator.controller.observed_state import Manifest, ObservedState
from weir_operator.controller.record import Record
from weir_operator.controller.round_state import RoundState
from weir_operator.controller.settings import Settings
from weir_placement.model.cluster import Cluster, Network
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Problem

from tests.controller.scenario import LAYOUT, desired, query


def a_stream(name: str, **status: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", "generation": 3}
    return {"kind": "Stream", "metadata": meta, "status": status or {"observedGeneration": -1}}


def a_policy(name: str, **status: Any) -> dict[str, Any]:
    return {"kind": "PlacementPolicy", "metadata": {"name": name, "generation": 1}, "status": status}


def a_query(name: str, policy: str = "default") -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"}
    return {"kind": "StreamQuery", "metadata": meta, "spec": {"policy": policy}}


def round_state(
    objects: list[Manifest],
    queries: Mapping[str, DesiredQuery] | None = None,
    errors: Mapping[tuple[str, str, str], str] | None = None,
    now: float = 10.0,
) -> RoundState:
    """`queries` of the policy `default` have plans."""
    group = Group(
        "default", PlacementPolicySpec(), Problem(Cluster((), Network.uniform(0)), {}, ()), queries or {}
    )
    state = DesiredState((group,) if queries else (), errors=errors or {})
    plans = {n: QueryPlan(a.model, {"f": "n1", "p": "n1"}, {"s": "n1"}) for n, a in (queries or {}).items()}
    records = {name: Record(name, plan=plan) for name, plan in plans.items()}
    return RoundState(ObservedState(now=now, objects=tuple(objects)), state, Settings(LAYOUT), records, {})


def conditions(write: WriteStatus) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["message"]) for c in write.status["conditions"]}


def figures(write: WriteStatus) -> dict[str, Any]:
    return {k: v for k, v in write.status.items() if k not in ("conditions", "observedGeneration")}


def test_a_new_object_is_seen_and_then_left_alone() -> None:
    (first,) = definition_statuses(round_state([a_stream("s")]), True)
    assert (first.kind, first.namespace, first.name) == ("Stream", "default", "s")
    assert first.status["observedGeneration"] == 3
    assert conditions(first)["Ready"][0] == "True"
    assert conditions(first)["Stalled"][0] == "False"
    assert definition_statuses(round_state([a_stream("s", **first.status)], now=99.0), True) == []


def test_what_is_wrong_is_said_and_only_of_that_object() -> None:
    errors = {("Stream", "default", "s"): "spec.schema: BIGNIT is no type; write BIGINT"}
    bad, good = definition_statuses(round_state([a_stream("s"), a_stream("t")], errors=errors), True)
    assert conditions(bad)["Stalled"] == ("True", "spec.schema: BIGNIT is no type; write BIGINT")
    assert conditions(bad)["Ready"][0] == "False"
    assert conditions(good)["Ready"][0] == "True"


def test_queries_and_nodes_are_left_to_others() -> None:
    assert (
        definition_statuses(round_state([{"kind": "Node", "metadata": {"name": "n"}}, a_query("q")]), True)
        == []
    )


def test_a_stream_names_its_readers_and_its_measured_rate() -> None:
    both = {f"default/{name}": desired(query(name)) for name in ("r", "q")}
    state = round_state([a_stream("s"), a_stream("t")], both)
    state.numbers["default/q"] = {"rates": {"default/s": 1234.567, "default/t": 5.0}}
    read, unread = definition_statuses(state, True)
    assert figures(read) == {"readers": ["default/q", "default/r"], "rate": 1230.0}
    assert figures(unread) == {}, "no empty list, and no rate of what nobody reads"


def test_a_rate_is_written_when_it_differs_by_a_tenth_and_stays_while_none_is_measured() -> None:
    queries = {"default/q": desired(query("q"))}

    def with_rate(stream: Manifest, rate: float | None) -> RoundState:
        state = round_state([stream], queries)
        state.numbers["default/q"] = {"rates": {} if rate is None else {"default/s": rate}}
        return state

    (first,) = definition_statuses(with_rate(a_stream("s"), 1000.0), True)

    def second(rate: float | None, numbers: bool) -> list[dict[str, Any]]:
        state = with_rate(a_stream("s", **first.status), rate)
        return [figures(write) for write in definition_statuses(state, numbers)]

    assert second(1090.0, True) == []
    assert second(None, True) == []
    assert second(2000.0, False) == [], "numbers have their time"
    assert second(2000.0, True) == [{"readers": ["default/q"], "rate": 2000.0}]


def test_a_policy_counts_its_queries_and_those_with_a_plan() -> None:
    there = [
        a_policy("default"),
        a_policy("spare"),
        a_query("q"),
        a_query("r"),
        a_query("s"),
        a_query("faulty"),
    ]
    queries = {f"default/{name}": desired(query(name)) for name in ("q", "r", "s")}
    queries["default/s"] = replace(queries["default/s"], suspended=True)
    state = round_state(there, queries)
    state.refusals["default/r"] = "no room"
    state.numbers = {name: {"headroom": 1.83333333} for name in queries}
    used, spare = definition_statuses(state, True)
    assert figures(used) == {"queries": 4, "admitted": 1, "headroom": 1.8333}
    assert figures(spare) == {"queries": 0, "admitted": 0}
    state.observed = replace(state.observed, objects=(a_policy("default", **used.status), *there[1:]))
    assert [write.name for write in definition_statuses(state, True)] == ["spare"]


def test_a_headroom_without_limit_is_not_written() -> None:
    state = round_state([a_policy("default"), a_query("q")], {"default/q": desired(query("q"))})
    state.numbers["default/q"] = {"headroom": float("inf")}
    (write,) = definition_statuses(state, True)
    assert figures(write) == {"queries": 1, "admitted": 1}
