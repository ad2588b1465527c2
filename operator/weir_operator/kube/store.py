"""Placements and statuses in a cluster, for the commands that people use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weir_operator.kube.api import Api, ApiError


class ClusterStore:
    """As `local.store.RunStore`: what runs, and the revisions that people choose. Raises ApiError."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def placements(self) -> Iterator[dict[str, Any]]:
        """Every Placement that the caller may list."""
        for manifest in self.api.list("Placement"):
            yield {"spec": {}, "status": {}, **manifest}

    def queries(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """(namespace/name, status) of every StreamQuery that the caller may list."""
        for manifest in self.api.list("StreamQuery"):
            meta = manifest["metadata"]
            yield f"{meta['namespace']}/{meta['name']}", manifest.get("status") or {}

    def status(self, kind: str, namespace: str, name: str) -> Mapping[str, Any]:
        """An object's status; empty before it is first written."""
        return (self.api.get(kind, namespace, name) or {}).get("status") or {}

    def set_revision(self, query: str, **fields: Any) -> None:
        """Sets `approval` or `pinned` in the Placement, never in the user's object; None removes it."""
        namespace, name = query.split("/", 1)
        self.api.merge("Placement", namespace, name, {"spec": fields})


def reachable(context: str | None) -> ClusterStore | None:
    """The cluster of the kubeconfig; None when there is none."""
    from weir_operator.kube.api import connect

    try:
        return ClusterStore(connect(context))
    except ApiError:
        return None
