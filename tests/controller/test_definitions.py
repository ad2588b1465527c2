"""Statuses of streams, profiles, policies and topologies: seen, in order, or what is wrong."""

from __future__ import annotations

from typing import Any

from weir_operator.controller.definitions import definition_statuses
from weir_operator.controller.snapshot import Snapshot
from weir_operator.controller.world import World


def stream(name: str, **status: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "a", "generation": 3}
    return {"kind": "Stream", "metadata": meta, "status": status or {"observedGeneration": -1}}


def conditions(status: Any) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["message"]) for c in status["conditions"]}


def test_a_new_object_is_seen_and_then_left_alone() -> None:
    (first,) = definition_statuses(Snapshot(now=10.0, objects=(stream("s"),)), World(groups=()))
    assert (first.kind, first.namespace, first.name) == ("Stream", "a", "s")
    assert first.status["observedGeneration"] == 3
    assert conditions(first.status)["Ready"][0] == "True"
    assert conditions(first.status)["Stalled"][0] == "False"
    again = stream("s", **first.status)
    assert definition_statuses(Snapshot(now=99.0, objects=(again,)), World(groups=())) == []


def test_what_is_wrong_is_said_and_only_of_that_object() -> None:
    world = World(groups=(), wrong={("Stream", "a", "s"): "spec.schema: BIGNIT is no type; write BIGINT"})
    found = definition_statuses(Snapshot(now=10.0, objects=(stream("s"), stream("t"))), world)
    wrong, right = (conditions(write.status) for write in found)
    assert wrong["Stalled"] == ("True", "spec.schema: BIGNIT is no type; write BIGINT")
    assert wrong["Ready"][0] == "False"
    assert right["Ready"][0] == "True"


def test_queries_and_nodes_are_left_to_others() -> None:
    others = ({"kind": "Node", "metadata": {"name": "n"}}, {"kind": "StreamQuery", "metadata": {"name": "q"}})
    assert definition_statuses(Snapshot(now=10.0, objects=others), World(groups=())) == []
