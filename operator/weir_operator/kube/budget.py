"""The PodDisruptionBudget that holds an eviction until the fragment has moved."""

from __future__ import annotations

from typing import Any

from weir_operator.controller.decision import Protect
from weir_operator.kube import names
from weir_operator.kube.api import Api
from weir_operator.kube.owner_references import OwnerReference, metadata


def build_disruption_budget_spec(
    namespace: str, fragment: str, query: str, owner: OwnerReference, executors: int = 0
) -> dict[str, Any]:
    """One ready driver must stay, and all executors that it has: without them it could not commit.

    A standby is ready when it is warm: from then on the old driver may be evicted too, which makes it
    commit and release as a hand-over does. `AlwaysAllow` lets a driver go that is broken anyway.
    An integer, because a share of a pod without a scalable controller is not defined.
    """
    selector: dict[str, Any] = {"matchLabels": {names.FRAGMENT: names.object_name(fragment)}}
    if executors:
        both = {"key": names.ROLE, "operator": "In", "values": ["driver", "executor"]}
        selector["matchExpressions"] = [both]
    else:
        selector["matchLabels"][names.ROLE] = "driver"
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(names.object_name(fragment), namespace, names.labels(fragment, query), owner),
        "spec": {
            "minAvailable": 1 + executors,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": selector,
        },
    }


def protect(api: Api, action: Protect, owner: OwnerReference) -> None:
    """Have the budget of a fragment."""
    about = (action.query.split("/", 1)[0], action.fragment, action.query, owner)
    api.apply(build_disruption_budget_spec(*about, action.executors))
