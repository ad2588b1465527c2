"""A round over made-up objects, before the first real one."""

from __future__ import annotations

from typing import Any

from weir_operator.controller.decide import decide
from weir_operator.controller.decision import Decision
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings

CREATED = "2026-01-01T00:00:00Z"


def rehearse(settings: Settings) -> Decision:
    """What a loop would decide about one query on one node; nothing is applied.

    A replica that takes the lead begins with a full round. What a process has to build once for that
    (validators of the kinds, the SQL reader, the compiled searches) is then ready: about 1.5 s.
    """
    observed = ObservedState(now=0.0, objects=tuple(_objects()))
    return decide(observed, DesiredStateBuilder()(observed, settings), settings)


def _objects() -> list[dict[str, Any]]:
    stream = {"schema": "k BIGINT, v DOUBLE, at TIMESTAMP", "rate": 1, "eventTime": {"column": "at"}}
    specs: list[tuple[str, str, str, dict[str, Any]]] = [
        ("weir.dev/v1alpha1", "PlacementPolicy", "", {"strategy": {"name": "greedy"}}),
        ("weir.dev/v1alpha1", "Stream", "a", {**stream, "source": {"rate": {}}}),
        (
            "weir.dev/v1alpha1",
            "StreamQuery",
            "a",
            {"sql": "SELECT k FROM x WHERE v > 1", "policy": "x"},
        ),
        ("v1", "Node", "", {}),
    ]
    objects = []
    for version, kind, namespace, spec in specs:
        metadata = {"name": "x", "uid": kind, "generation": 1, "creationTimestamp": CREATED}
        if namespace:
            metadata["namespace"] = namespace
        objects.append({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    objects[-1]["status"] = {"allocatable": {"cpu": "4", "memory": "8Gi"}}
    return objects
