"""What the API server looks at before it stores an object: rights, form, schema, a few rules of kinds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import yaml
from weir_operator.api.kinds import KINDS, NAME_RULE
from weir_operator.kube.api import ApiError
from weir_operator.kube.names import GROUP
from weir_operator.kube.rights import Right
from weir_operator.manifests.parse import broken_rules

from tests.api.structural import CRDS, violations
from tests.kube.field_ownership import METADATA

Manifest = Mapping[str, Any]
OF_THE_SYSTEM = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
NEEDS = {"apply": {"create", "patch"}, "merge": {"patch"}}
"""Verbs of the API server by those of `kube.api.Api`, where they differ."""
APPLIED = ("ServiceAccount", "Role", "RoleBinding", "Lease", "PodDisruptionBudget")
"""Kinds of Kubernetes' own that are applied: no list in them is merged by items, but those of `metadata`."""
VERSIONS = {
    "Event": "events.k8s.io/v1", "Lease": "coordination.k8s.io/v1", "PodDisruptionBudget": "policy/v1",
    "Role": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
}  # fmt: skip
WITH_STATUS = ("Pod", "Node", "Namespace", "PodDisruptionBudget", "ResourceQuota")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY = re.compile(r"([a-z0-9][-a-z0-9.]{0,252}/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]")
_LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")


@cache
def _definitions() -> dict[str, Any]:
    """The schemas of our kinds, from the files that are applied to a cluster."""
    specs = [yaml.safe_load(file.read_text())["spec"] for file in CRDS.glob("*.yaml")]
    return {s["names"]["kind"]: s["versions"][0]["schema"]["openAPIV3Schema"] for s in specs}


@cache
def schema_of_kind(kind: str) -> Manifest:
    """How its fields are merged."""
    own = _definitions().get(kind, {})
    return {"properties": {**own.get("properties", {}), "metadata": METADATA}}


def check_rights(
    rights: tuple[Right, ...], verb: str, group: str, resource: str, name: str, subresource: str
) -> None:
    resource += f"/{subresource}" if subresource else ""
    of_kind = [r for r in rights if r.group == group and resource in r.resources]
    verbs = {v for r in of_kind if not r.only or name in r.only for v in r.verbs}
    missing = ({"patch"} if subresource else NEEDS.get(verb, {verb})) - verbs
    if rights and missing:
        raise ApiError(403, f"cannot {', '.join(sorted(missing))} resource {resource!r} in {group!r}")


def check_form(manifest: Manifest) -> None:
    kind, meta = manifest["kind"], manifest["metadata"]
    version = f"{GROUP}/v1alpha1" if kind in _definitions() else VERSIONS.get(kind, "v1")
    if manifest.get("apiVersion") != version:
        raise ApiError(400, f"{kind}: apiVersion {manifest.get('apiVersion')!r} is not {version}")
    if not _NAME.fullmatch(meta["name"]):
        raise ApiError(
            422, f"{kind} {meta['name']!r}: metadata.name: a lowercase RFC 1123 subdomain is wanted"
        )
    for name, value in (meta.get("labels") or {}).items():
        if not (_LABEL.fullmatch(value) and _KEY.fullmatch(name)):
            raise ApiError(422, f"{kind} {meta['name']}: metadata.labels: Invalid value: {name}={value}")


def part(manifest: Manifest, subresource: str) -> dict[str, Any]:
    """What of it a write looks at: the status where it is written on its own, everything but it elsewhere."""
    with_status = manifest["kind"] in (*WITH_STATUS, *_definitions())
    if subresource:
        if subresource != "status" or not with_status:
            raise NotImplementedError(f"in memory no {manifest['kind']} has a {subresource}")
        return {k: v for k, v in manifest.items() if k in ("apiVersion", "kind", "status")}
    return {k: v for k, v in manifest.items() if k != "status" or not with_status}


def check_declared(kind: str, new: Manifest) -> None:
    """Server-side apply refuses fields that the schema does not have; every other write drops them."""
    definition = _definitions().get(kind)
    if definition is None and kind not in APPLIED:
        raise NotImplementedError(f"in memory no {kind} is applied: which of its lists are keyed?")
    for name in ("spec", "status"):
        if definition and name in new:
            unknown = _undeclared(definition["properties"][name], new[name], f".{name}")
            if unknown:
                raise ApiError(
                    500, f"failed to create typed patch object: {unknown}: field not declared in schema"
                )


def _undeclared(schema: Manifest, value: Any, path: str) -> str:
    if isinstance(value, Mapping) and "properties" in schema and not _free(schema):
        for name, child in value.items():
            if name not in schema["properties"]:
                return f"{path}.{name}"
            if below := _undeclared(schema["properties"][name], child, f"{path}.{name}"):
                return below
    if isinstance(value, list):
        return next(filter(None, (_undeclared(schema.get("items", {}), item, path) for item in value)), "")
    return ""


def _free(schema: Manifest) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def pruned(kind: str, value: Any) -> Any:
    """Without fields that the schema of our kind does not have, and without their nulls."""
    definition = _definitions().get(kind)
    if definition is None:
        return value
    present = [name for name in ("spec", "status") if value.get(name) is not None]
    parts = {name: _pruned(definition["properties"][name], value[name]) for name in present}
    return {**{k: v for k, v in value.items() if k in ("apiVersion", "kind", "metadata")}, **parts}


def _pruned(schema: Manifest, value: Any) -> Any:
    if isinstance(value, Mapping) and "properties" in schema and not _free(schema):
        fields = schema["properties"]
        kept = {name: child for name, child in value.items() if name in fields and child is not None}
        return {name: _pruned(fields[name], child) for name, child in kept.items()}
    if isinstance(value, Mapping) and isinstance(schema.get("additionalProperties"), Mapping):
        return {
            name: _pruned(schema["additionalProperties"], v) for name, v in value.items() if v is not None
        }
    if isinstance(value, list):
        return [_pruned(schema.get("items", {}), item) for item in value]
    return value


def admitted(new: dict[str, Any]) -> dict[str, Any]:
    """A new node is tainted until the controller of nodes hears of it."""
    if new["kind"] != "Node":
        return new
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    spec = new.get("spec") or {}
    return {**new, "spec": {**spec, "taints": [*(spec.get("taints") or ()), taint]}}


def defaulted(kind: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """With the status that a new object has."""
    if kind == "Pod":
        return {**manifest, "status": {"phase": "Pending", **(manifest.get("status") or {})}}
    schema = _definitions().get(kind, {}).get("properties", {}).get("status", {})
    status = manifest.get("status") or schema.get("default")
    if status is None:
        return manifest
    fields = {n: s["default"] for n, s in schema.get("properties", {}).items() if "default" in s}
    return {**manifest, "status": {**fields, **status}}


def counted(manifest: Manifest) -> dict[str, Any]:
    """What counts as a new generation."""
    return {k: v for k, v in manifest.items() if k not in ("metadata", "status")}


def lingers(manifest: Manifest) -> bool:
    """Whether it stays when it is deleted: for its finalizers, or, a pod, for its node to end it."""
    ended = (manifest.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    on_node = manifest["kind"] == "Pod" and (manifest.get("spec") or {}).get("nodeName") and not ended
    return bool(manifest["metadata"].get("finalizers") or on_node or manifest["kind"] == "Namespace")


def check_quota(kind: str, namespace: str, objects: Iterable[Manifest]) -> None:
    """Of numbers of pods; those of requests are not known here."""
    if kind != "Pod":
        return
    here = [o for o in objects if o["metadata"].get("namespace") == namespace]
    pods = sum(o["kind"] == "Pod" for o in here)
    for quota in here:
        if quota["kind"] == "ResourceQuota":
            hard = (quota.get("status") or {}).get("hard") or {}
            if set(hard) - {"pods"}:
                raise NotImplementedError(f"in memory quotas are of pods alone, not of {', '.join(hard)}")
            if pods >= int(hard.get("pods", pods + 1)):
                text = f"exceeded quota: {quota['metadata']['name']}, requested: pods=1, used: pods={pods}"
                raise ApiError(403, f"pods is forbidden: {text}")


def check_size(after: Manifest) -> None:
    """In the words of etcd, of its client, and of the API server."""
    size = len(json.dumps(after))
    if size > 3 * 2**20:
        raise ApiError(413, "Request entity too large: limit is 3145728")
    if size > 2 * 2**20:
        text = f"trying to send message larger than max ({size} vs. 2097152)"
        raise ApiError(500, f"rpc error: code = ResourceExhausted desc = {text}")
    if size > 1.5 * 2**20:
        raise ApiError(500, "etcdserver: request is too large")


def check_object(after: Manifest, present: Manifest | None, rights: tuple[Right, ...]) -> None:
    """Every 422, and the 403 of a Role that gives more than its maker has."""
    kind = after["kind"]
    owners = (after.get("metadata") or {}).get("ownerReferences") or ()
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        raise ApiError(422, "metadata.ownerReferences: Only one reference can have Controller set to true")
    definition = _definitions().get(kind)
    if definition is not None:
        wrong = [
            text
            for name in ("spec", "status")
            if name in after
            for text in violations(definition["properties"][name], after[name], name)
        ]
        model = next(k.model for k in KINDS if k.name == kind)
        wrong += [f"{path}: {text}" for path, text in broken_rules(model, after, "")]
        wrong += [NAME_RULE.message] * (not NAME_RULE.holds(after))
        wrong += ["spec is required"] * ("spec" in definition.get("required", ()) and "spec" not in after)
        if wrong:
            raise ApiError(422, f"{kind} is invalid: {'; '.join(wrong)}")
    if kind == "RoleBinding" and present and present["roleRef"] != after["roleRef"]:
        raise ApiError(422, "roleRef: cannot change roleRef")
    if kind == "Role":
        _check_escalation(after, rights)
    if kind == "Event":
        _check_event(after)
    if kind == "Lease":
        _check_lease(after)


def _check_escalation(role: Manifest, rights: tuple[Right, ...]) -> None:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                mine = {v for r in rights if r.group == group and resource in r.resources for v in r.verbs}
                if rights and set(rule["verbs"]) - mine:
                    raise ApiError(
                        403, f"attempting to grant RBAC permissions not currently held: {resource}"
                    )


def _check_event(event: Manifest) -> None:
    if len(event.get("note", "").encode()) > 1024:
        raise ApiError(422, "Event is invalid: message: can have at most 1024 characters")
    for name in ("reportingController", "reportingInstance", "action", "reason"):
        if not 0 < len(event.get(name, "")) <= 128:
            raise ApiError(422, f"Event is invalid: {name}: Required value, of at most 128 characters")


def _check_lease(lease: Manifest) -> None:
    spec = lease.get("spec") or {}
    if spec.get("leaseDurationSeconds", 1) <= 0 or spec.get("leaseTransitions", 0) < 0:
        raise ApiError(422, "Lease is invalid: spec: must be greater than 0")
