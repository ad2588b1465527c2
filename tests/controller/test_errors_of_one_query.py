"""Whichever function ends with an error about one query, the others of its policy keep their plans
and processes, and new ones start; nothing of that query is done without its intent."""

from __future__ import annotations

import copy
from functools import cache

import pytest

from tests.controller.faults_of_code import called_about, raising
from tests.controller.objects import ObjectCluster, manifest, node, object_loop, query, stream
from tests.controller.scenario import settle

STAY = {"strategy": {"name": "greedy"}, "drift": {"minHeadroom": 0, "minGain": 1e9}}
WHOSE = (
    "weir_operator.controller.raw_fields.",  # they are called before it is known whose fields they read
    "weir_operator.controller.record.name_of",
    "weir_operator.controller.definitions._is_query",
    "weir_operator.controller.round_state.",
    "weir_operator.controller.snapshots_before_changes.SnapshotWaits.guard",
    "weir_operator.controller.actions._moves_now",
    "weir_operator.controller.loop.",  # these isolate
    "weir_operator.controller.writes.fragment_of",
    "weir_operator.controller.desired_state_builder._uid",
    "weir_operator.manifests.parse.key_of",
    "weir_operator.manifests.queries.key_of",
    "weir_operator.manifests.objects.Objects.add",
)
"""What says which query something is about, and so cannot fail for one alone."""


@cache
def settled() -> ObjectCluster:
    """Queries `a` and `b` of one policy run."""
    nodes = [node(f"n{i}") for i in (1, 2, 3)]
    own = [manifest("PlacementPolicy", "default", STAY), stream("s", "n1"), stream("t", "n1")]
    queries = [query("a", "s"), query("b", "t")]
    for each in queries:
        each["spec"] = {**each["spec"], "snapshots": {"beforeUpgrade": True}}
    cluster = ObjectCluster(objects=[*nodes, *own, *queries])
    settle(object_loop(cluster))
    return cluster


def eventful(cluster: ObjectCluster) -> None:
    """Rounds in which `a` is edited and `c` is new."""
    cluster.objects.append(query("c", "t"))
    edited = next(o for o in cluster.objects if o["metadata"]["uid"] == "StreamQuery-a")
    loop = object_loop(cluster)
    loop.once()
    edited["spec"] = {**edited["spec"], "sql": "SELECT s.k FROM s WHERE s.k > 7"}
    for _ in range(7):
        loop.once()


@cache
def functions() -> list[str]:
    names = called_about("default/a", lambda: eventful(copy.deepcopy(settled())))
    return [name for name in names if not name.startswith(WHOSE)]


def test_an_error_about_one_query_is_its_own(subtests: pytest.Subtests) -> None:
    raised = 0
    for function in functions():
        with subtests.test(function):
            raised += _its_own(function)
    assert raised > 80, "the others' results are cached"


def _its_own(function: str) -> bool:
    """Whether the function was called at all."""
    cluster = copy.deepcopy(settled())
    plan, processes = cluster.placements["default/b"].spec, cluster.of_query("b")
    with raising(function, "default/a") as raised:
        eventful(cluster)
    if not raised:
        return False
    assert cluster.placements["default/b"].spec == plan
    assert cluster.of_query("b") == processes
    assert cluster.of_query("c"), "a new query starts"
    fragments = cluster.placements["default/a"].spec["fragments"]
    assert cluster.of_query("a"), "what runs goes on"
    assert {key[0] for key in cluster.of_query("a")} <= {f["name"] for f in fragments} | set(
        cluster.placements["default/a"].status["owned"]
    )
    return True


def test_nearly_all_of_a_round_is_looked_at() -> None:
    assert len(functions()) > 80
