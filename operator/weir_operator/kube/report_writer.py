"""What is written about queries: Placements, statuses, Events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weir_operator.controller.decision import DeletePlacement, Event, WritePlacement, WriteStatus
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError, ObjectGone
from weir_operator.kube.events import build_event_spec
from weir_operator.kube.owner_references import OwnerReference, class_label
from weir_operator.kube.refusals import refusals
from weir_operator.kube.settings import OperatorSettings

SHARED = ("Stream", "InputProfile", "NetworkTopology")
API_VERSION = "weir.dev/v1alpha1"
ObservedObjects = dict[tuple[str, str, str], Mapping[str, Any]]
"""By kind, namespace ("" for none) and name."""


class ReportWriter:
    """Over what was last observed.

    Attributes:
        objects: as observed; a Placement that is written takes its place among them.
        describes: whether this release writes statuses of what several use.
    """

    def __init__(self, api: Api, settings: OperatorSettings, clock: Callable[[], float]) -> None:
        self._api = api
        self._settings = settings
        self._clock = clock
        self.objects: ObservedObjects = {}
        self.describes = True

    def write_placement(self, placement: WritePlacement | DeletePlacement) -> None:
        """Record an intent: the Placement's spec, then its status; each only over what was read, so that a
        replica that led before, or a decision made before a person's, overwrites nothing (ApiError 409)."""
        with refusals(placement if isinstance(placement, WritePlacement) else None):
            self._write_placement(placement)

    def _write_placement(self, placement: WritePlacement | DeletePlacement) -> None:
        namespace, name = placement.query.split("/", 1)
        if isinstance(placement, DeletePlacement):
            present = self.objects.get(("Placement", namespace, name))
            self._api.delete("Placement", namespace, name, present["metadata"]["uid"] if present else "")
            return
        meta = {
            "name": name,
            "namespace": namespace,
            "labels": {
                names.MANAGED_BY: names.FIELD_MANAGER,
                names.QUERY: names.object_name(name),
                **class_label(self._settings.operator_class),
            },
            **self._references_to_query(placement),
        }
        present = self.objects.get(("Placement", namespace, name))
        if present is not None:  # the uid too: where there is no object any more, no version is compared
            meta |= {key: present["metadata"][key] for key in ("resourceVersion", "uid")}
        elif self._api.get("Placement", namespace, name) is not None:
            raise ApiError(409, f"Placement {placement.query} already exists, but was not observed")
        manifest = {"apiVersion": API_VERSION, "kind": "Placement", "metadata": meta}
        stored = self._api.apply({**manifest, "spec": dict(placement.spec)})
        if placement.status:
            version = stored["metadata"]["resourceVersion"]
            stored = self._apply_status("Placement", namespace, name, placement.status, version)
        self.objects["Placement", namespace, name] = {"kind": "Placement", **stored}

    def _references_to_query(self, placement: WritePlacement) -> dict[str, Any]:
        """The Placement goes with its query, unless what it describes is to stay."""
        namespace, name = placement.query.split("/", 1)
        if placement.spec.get("retained"):
            return {}
        query = self.objects.get(("StreamQuery", namespace, name))
        if query is None:
            raise ObjectGone(404, f"query {placement.query} is gone")
        if (placement.spec.get("owner") or {}).get("retain"):
            return {}
        return {
            "ownerReferences": [
                OwnerReference(name, query["metadata"]["uid"], kind="StreamQuery").reference()
            ]
        }

    def write_status(self, status: WriteStatus) -> None:
        """Write the `/status` subresource of a user's object, and nothing else in it; of what other releases
        use too, only one of them does."""
        if status.kind in SHARED and not self.describes:
            return
        try:
            with refusals():
                self._apply_status(status.kind, status.namespace, status.name, status.status)
        except ApiError as error:
            if error.status == 404:
                raise ObjectGone(404, f"{status.kind} {status.name} is gone") from None
            raise

    def _apply_status(
        self, kind: str, namespace: str, name: str, status: Mapping[str, Any], version: str = ""
    ) -> dict[str, Any]:
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        meta |= {"resourceVersion": version} if version else {}
        manifest = {"apiVersion": API_VERSION, "kind": kind, "metadata": meta, "status": dict(status)}
        stored: dict[str, Any] = self._api.apply(manifest, subresource="status")
        return stored

    def emit(self, event: Event) -> None:
        """Publish an event about a query or a snapshot."""
        namespace, name = event.query.split("/", 1)
        about = self.objects.get((event.kind, namespace, name))
        self._api.create(build_event_spec(event, about, self._settings.identity, self._clock()))
