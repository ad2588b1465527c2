"""Taints: one of its own pool is nothing to a query; any other one starts its move, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings
from weir_placement.fragments import Layout

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, query, settle

NAMES = ("a", "b")
TAINT = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}


def together() -> Scenario:
    """Two queries, both of which may be on the first two nodes."""
    return Scenario({f"default/{name}": desired(query(name, nodes=("n1", "n2"))) for name in NAMES})


def pods_of(cluster: FakeCluster, name: str) -> set[tuple[str, int, str]]:
    return {(*key, p.node) for key, p in cluster.processes.items() if key[0].startswith(f"{name}-")}


def nodes_of(cluster: FakeCluster, name: str) -> set[str]:
    return {node for _, _, node in pods_of(cluster, name)}


def test_a_taint_moves_those_that_do_not_tolerate_it_and_only_those() -> None:
    scenario, cluster = together(), FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    before = pods_of(cluster, "b")
    for node in ("n1", "n2"):
        scenario.closed = {"default/a": frozenset({node})}
        ready = set()
        for _ in range(30):
            it.once()
            ready.add(condition(cluster, "a", "Ready"))
        settle(it)
        assert ready == {"True"}, "the move is a warm one"
        assert node not in nodes_of(cluster, "a")
        assert pods_of(cluster, "b") == before


def test_on_cordon_stay_a_taint_moves_nothing() -> None:
    scenario, cluster = together(), FakeCluster()
    scenario.policy = PlacementPolicySpec.model_validate({"onCordon": "Stay"})
    it = loop(scenario, cluster)
    settle(it)
    before = pods_of(cluster, "a")
    scenario.closed = {"default/a": frozenset({"n1", "n2"})}
    settle(it)
    assert pods_of(cluster, "a") == before


def manifest(kind: str, name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    version = "v1" if kind == "Node" else "weir.dev/v1alpha1"
    meta = {"name": name, "uid": name, **({} if kind == "Node" else {"namespace": "default"})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec, **more}


def built(
    taints: list[dict[str, str]],
    *tolerations: list[dict[str, str]],
    operators: list[dict[str, Any]] | None = None,
    **node: Any,
) -> DesiredState:
    """A cluster with a tainted node n1, another one, a query for each list of tolerations, and one of these
    operators."""
    status = {"allocatable": {"cpu": "2", "memory": "8Gi"}}
    stream = {
        "schema": "k BIGINT, ts TIMESTAMP",
        "eventTime": {"column": "ts", "watermark": "1s"},
        "source": {"files": {"uri": "/in", "format": "arrow"}},
        "origin": {"node": "n2"},
        "rate": 10,
    }
    objects = [
        manifest("Node", "n1", {"taints": taints, **node}, status=status),
        manifest("Node", "n2", {}, status=status),
        manifest("Stream", "s", stream),
    ]
    for number, tolerated in enumerate(tolerations):
        spec = {"sql": "SELECT s.k FROM s WHERE s.k > 1", "tolerations": tolerated}
        objects.append(manifest("StreamQuery", f"q{number}", spec))
    if operators:
        objects.append(manifest("StreamQuery", "bound", {"operators": operators}))
    return DesiredStateBuilder()(ObservedState(1000.0, tuple(objects)), Settings(Layout("/data")))


def test_one_query_that_tolerates_everything_keeps_nobody_else_there() -> None:
    state = built([TAINT], [{"operator": "Exists"}], [], [{"key": "pool", "operator": "Exists"}])
    assert not state.faults
    left = {name: set(state.nodes_to_leave(f"default/{name}")) for name in ("q0", "q1", "q2")}
    assert left == {"q0": set(), "q1": {"n1"}, "q2": {"n1"}}


@pytest.mark.parametrize(
    "taint",
    [
        {"key": "pool", "effect": "PreferNoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},  # lost, if it lasts
        {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"},
    ],
    ids=lambda taint: str(taint["key"]),
)
def test_taints_that_tell_nobody_to_go(taint: dict[str, str]) -> None:
    assert not built([taint], []).nodes_to_leave("default/q0")


def test_what_an_operator_is_bound_to_is_read_as_it_is_written() -> None:
    """Without what taints close: that differs from one round to the next."""
    filtered = {"id": "f", "kind": "filter", "inputs": ["s"], "predicate": "s.k > 1", "nodes": ["n1", "n2"]}
    (group,) = built([TAINT], [{"operator": "Exists"}], operators=[filtered]).groups
    bound = {name: dict(query.nodes) for name, query in group.queries.items()}
    assert bound == {"default/q0": {}, "default/bound": {"f": ("n1", "n2")}}


def test_a_cordon_is_for_everybody() -> None:
    state = built([], [{"operator": "Exists"}], unschedulable=True)
    assert state.nodes_to_leave("default/q0") == {"n1"}
