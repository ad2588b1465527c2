"""Which objects a release serves where several share a cluster, as an IngressClass says whose an Ingress is.

A PlacementPolicy names a class (`operatorClass`), a release has one (the chart's value `operatorClass`), and
"" is the class of those that name none. A query is of its policy's class; all that is made of it is of the
query's. What another release serves is load for this one, and is never written, moved or swept by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.raw_fields import part
from weir_operator.controller.record import name_of
from weir_operator.kube import names
from weir_operator.kube.ownership import fragments_of


class Served:
    """What of `objects` the release of class `own` serves."""

    def __init__(self, own: str, objects: Iterable[Manifest], placements: Iterable[Manifest]) -> None:
        self._own = own
        objects = list(objects)
        self._policies = {
            str(o["metadata"]["name"]): str(part(o, "spec").get("operatorClass") or "")
            for o in objects
            if o["kind"] == "PlacementPolicy"
        }
        labelled = {name_of(o): label_of(o) for o in objects if o["kind"] == "Placement"}
        self._queries = {
            name_of(o): self._policies.get(
                str(part(o, "spec").get("policy") or "default"), labelled.get(name_of(o), "")
            )
            for o in objects
            if o["kind"] == "StreamQuery"
        }
        self._fragments = {
            names.object_name(fragment): self._class_of(placement)
            for placement in placements
            for fragment in fragments_of(placement)
        }

    def objects(self, objects: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Without the policies, queries and Placements of other releases."""
        return [o for o in objects if self._class_of(o) == self._own]

    def of_fragments(self, manifests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those whose fragment is this release's; of a fragment that no Placement names, by their label."""
        return [
            manifest
            for manifest in manifests
            if self._fragments.get(manifest["metadata"]["labels"][names.FRAGMENT], label_of(manifest))
            == self._own
        ]

    def describes(self) -> bool:
        """Whether this release writes the statuses of what all share, such as Streams: of the classes that
        policies name, the first one does."""
        return self._own == min(self._policies.values(), default="")

    def _class_of(self, manifest: Manifest) -> str:
        match manifest["kind"]:
            case "PlacementPolicy":
                return self._policies[manifest["metadata"]["name"]]
            case "StreamQuery":
                return self._queries[name_of(manifest)]
            case "Placement":  # of a query that is gone: as it was
                return self._queries.get(name_of(manifest), label_of(manifest))
            case "QuerySnapshot":  # of its query; what exists, of the release that describes what all share
                name = f"{manifest['metadata'].get('namespace')}/{part(manifest, 'spec').get('query')}"
                return self._queries.get(name, min(self._policies.values(), default=""))
        return self._own


def label_of(manifest: Manifest) -> str:
    """The class that an object is labelled with."""
    return str(part(part(manifest, "metadata"), "labels").get(names.CLASS, ""))
