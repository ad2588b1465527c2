"""`weir uninstall --all`: queries first, while the operator still sweeps their files, then the kinds.

`weir uninstall --budgets`: what the chart runs before it removes the operator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.leader import DURATION, Leader
from weir_operator.kube.operator_class import label_of
from weir_operator.kube.settings import OperatorSettings

QUERIES, PLACEMENTS = "StreamQuery", "Placement"
OTHERS = ("QuerySnapshot", "Stream", "InputProfile", "PlacementPolicy", "NetworkTopology")
LABELLED = ("Pod", "PodDisruptionBudget", "Lease")
LOOK = 0.5  # [s] between two checks
QUIET = 12.0  # [s] in which the operator runs at least two rounds: what it starts after a removal is noticed
LEADERLESS = 120  # [s] within which the operator's pods must be gone: after that one of them leads again


def remove_everything(api: Api, timeout: float, tell: Callable[[str], None]) -> None:
    """Raises TimeoutError, which says what still exists after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    kinds = [crd for crd in api.list("CustomResourceDefinition") if crd["spec"]["group"] == names.GROUP]
    if kinds:
        _delete(api, QUERIES, tell)
        _wait(lambda: _queries_and_theirs(api, tell), deadline, QUIET)  # pods that sweep files come last
        for kind in OTHERS:
            _delete(api, kind, tell)
    for crd in kinds:
        api.delete("CustomResourceDefinition", "", crd["metadata"]["name"])
        tell(f"customresourcedefinition/{crd['metadata']['name']} removed")
    _wait(lambda: _there(api, *LABELLED), deadline)


def _queries_and_theirs(api: Api, tell: Callable[[str], None]) -> list[str]:
    """What is there yet. Placements are deleted as they come: the operator keeps those of deleted queries."""
    _delete(api, PLACEMENTS, tell)
    return _there(api, QUERIES, PLACEMENTS, *LABELLED)


def lift_budgets(
    api: Api,
    settings: OperatorSettings,
    tell: Callable[[str], None],
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Removes the disruption budgets of the release's fragments, for good: without an operator nobody would
    remove them, and no drain of a node would end. It takes the lead first, so that no replica creates them
    again."""
    own = settings.operator_class
    Leader(api, settings.namespace, settings.identity, operator_class=own).usurp(LEADERLESS)
    wait(DURATION)
    for namespace in settings.watch_namespaces or ("",):
        for budget in list(api.list("PodDisruptionBudget", namespace, names.MANAGED)):
            meta = budget["metadata"]
            if label_of(budget) != own:  # another release goes on
                continue
            api.delete("PodDisruptionBudget", meta["namespace"], meta["name"])
            tell(f"poddisruptionbudget/{meta['name']} removed from {meta['namespace']}")


def _delete(api: Api, kind: str, tell: Callable[[str], None]) -> None:
    for manifest in list(api.list(kind)):
        meta = manifest["metadata"]
        api.delete(kind, meta.get("namespace", ""), meta["name"])
        tell(
            f"{kind.lower()}/{meta['name']} removed"
            + (f" from {meta['namespace']}" if "namespace" in meta else "")
        )


def _there(api: Api, *kinds: str) -> list[str]:
    return [f"{kind} {_name(o)}" for kind in kinds for o in _ours(api, kind)]


def _ours(api: Api, kind: str) -> Iterator[Mapping[str, Any]]:
    try:
        yield from api.list(kind, selector=names.MANAGED if kind in LABELLED else "")
    except ApiError as error:
        if error.status != 404:  # the kind itself is gone
            raise


def _name(manifest: Mapping[str, Any]) -> str:
    meta = manifest["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])


def _wait(remaining: Callable[[], list[str]], deadline: float, quiet: float = 0.0) -> None:
    """Until nothing remains, and nothing has come back for `quiet` seconds."""
    last_seen = time.monotonic()
    while (objects := remaining()) or time.monotonic() - last_seen < quiet:
        if objects:
            last_seen = time.monotonic()
            if last_seen > deadline:
                raise TimeoutError(f"not removed in time: {', '.join(objects[:10])}")
        time.sleep(LOOK)
