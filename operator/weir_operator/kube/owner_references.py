"""Who owns an object: when the owner goes, the cluster takes the object with it. No finalizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weir_operator.kube import names


@dataclass(frozen=True)
class OwnerReference:
    """The Placement of a query, as owner references name it."""

    name: str
    uid: str
    kind: str = "Placement"
    api_version: str = "weir.dev/v1alpha1"
    operator_class: str = ""  # of the release that serves it

    def labels(self) -> dict[str, str]:
        """What all that it owns is labelled with."""
        return class_label(self.operator_class)

    def reference(self, controller: bool = True) -> dict[str, Any]:
        """An entry of `metadata.ownerReferences`.

        `blockOwnerDeletion` stays out: setting it needs the right to change the owner's finalizers.
        """
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": controller,
        }


def class_label(operator_class: str) -> dict[str, str]:
    """None for the class of those that name none: what earlier versions made has none either."""
    return {names.CLASS: operator_class} if operator_class else {}


def metadata(
    name: str,
    namespace: str,
    labels: dict[str, str],
    owner: OwnerReference | None,
    annotations: dict[str, str] | None = None,
) -> dict[str, Any]:
    """`metadata` of an object that the operator applies."""
    meta: dict[str, Any] = {"name": name, "namespace": namespace, "labels": labels}
    if owner:
        meta["ownerReferences"] = [owner.reference()]
        meta["labels"] = labels | owner.labels()
    if annotations:
        meta["annotations"] = annotations
    return meta
