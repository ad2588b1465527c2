"""The PodDisruptionBudget that holds an eviction until the fragment has moved."""

from __future__ import annotations

from typing import Any

from weir_operator.kube import names
from weir_operator.kube.owner import Owner, metadata


def build_disruption_budget_spec(namespace: str, fragment: str, query: str, owner: Owner) -> dict[str, Any]:
    """One ready driver must stay.

    A standby is ready when it is warm: from then on the old driver may be evicted too, which makes it
    commit and release as a hand-over does. `AlwaysAllow` lets a driver go that is broken anyway.
    An integer, because a share of a pod without a scalable controller is not defined.
    """
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(names.object_name(fragment), namespace, names.labels(fragment, query), owner),
        "spec": {
            "minAvailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": {names.FRAGMENT: names.object_name(fragment), names.ROLE: "driver"}},
        },
    }
