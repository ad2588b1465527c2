"""An API server in memory: the verbs of `kube.api.Api` on a dictionary, with versions and selectors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from weir_operator.kube.api import Api, ApiError, path_of
from weir_operator.kube.rights import Right

Manifest = dict[str, Any]
Key = tuple[str, str, str]
NEEDS = {"apply": {"create", "patch"}, "merge": {"patch"}}
"""Verbs of the API server by those of `kube.api.Api`, where they differ."""


class Memory:
    """`refuse` may raise for (verb, kind, namespace, name), as the real one would; with `rights`, whatever is
    not among them is refused."""

    def __init__(self, *objects: Manifest) -> None:
        self.objects: dict[Key, Manifest] = {}
        self.refuse: Callable[[str, str, str, str], None] = lambda *_: None
        self.rights: tuple[Right, ...] = ()
        self._numbers = itertools.count(1)
        for manifest in objects:
            self.put(manifest)

    @property
    def api(self) -> Api:
        return cast(Api, self)

    def put(self, manifest: Manifest) -> Manifest:
        meta = manifest["metadata"]
        key = (manifest["kind"], meta.get("namespace", ""), meta["name"])
        uid = self.objects[key]["metadata"]["uid"] if key in self.objects else f"uid-{next(self._numbers)}"
        version = str(next(self._numbers))
        stored = {**manifest, "metadata": {"uid": uid, **meta, "resourceVersion": version}}
        self.objects[key] = stored
        return stored

    def names(self, kind: str) -> set[str]:
        return {name for found, _, name in self.objects if found == kind}

    def _enter(self, verb: str, kind: str, namespace: str, name: str, subresource: str = "") -> None:
        self.refuse(verb, kind, namespace, name)
        *_, group, _, resource = ("", *path_of(kind).removeprefix("/api/").removeprefix("/apis/").split("/"))
        resource += f"/{subresource}" if subresource else ""
        of_kind = [r for r in self.rights if r.group == group and resource in r.resources]
        verbs = {v for r in of_kind if not r.only or name in r.only for v in r.verbs}
        missing = ({"patch"} if subresource else NEEDS.get(verb, {verb})) - verbs
        if self.rights and missing:
            raise ApiError(403, f"cannot {', '.join(sorted(missing))} resource {resource!r} in {group!r}")

    # the verbs

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        self._enter("get", kind, namespace, name)
        return self.objects.get((kind, namespace, name))

    def list(
        self, kind: str, namespace: str = "", selector: str = "", fields: str = ""
    ) -> Iterator[Manifest]:
        self._enter("list", kind, namespace, "")
        for (found, ns, _), manifest in list(self.objects.items()):
            labels = manifest["metadata"].get("labels") or {}
            here = found == kind and (not namespace or ns == namespace)
            if here and _selected(selector, labels) and _has_fields(fields, manifest):
                yield manifest

    def apply(self, manifest: Manifest, manager: str = "", subresource: str = "") -> Manifest:
        meta = manifest["metadata"]
        key = (manifest["kind"], meta.get("namespace", ""), meta["name"])
        self._enter("apply", *key, subresource)
        if subresource and key not in self.objects:
            raise ApiError(404, f"{key} not found")
        self._precondition(meta, self.objects.get(key))
        return self.put(_merged(self.objects.get(key, {}), manifest))

    def create(self, manifest: Manifest) -> bool:
        meta = manifest["metadata"]
        key = (manifest["kind"], meta.get("namespace", ""), meta["name"])
        self._enter("create", *key)
        if key in self.objects:
            return False
        new_meta = {**meta, "creationTimestamp": "2026-01-01T00:00:00Z"}
        self.put({"status": {"phase": "Pending"}, **manifest, "metadata": new_meta})
        return True

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        self._enter("merge", kind, namespace, name)
        before = self.objects.get((kind, namespace, name))
        if before is None:
            raise ApiError(404, f"{kind} {name} not found")
        self._precondition(patch.get("metadata", {}), before)
        return self.put(_merged(before, patch))

    def replace(self, manifest: Manifest) -> Manifest:
        meta = manifest["metadata"]
        key = (manifest["kind"], meta.get("namespace", ""), meta["name"])
        self._enter("update", *key)
        if key not in self.objects:
            raise ApiError(404, f"{key} not found")
        self._precondition(meta, self.objects[key])
        return self.put(manifest)

    def _precondition(self, meta: Mapping[str, Any], present: Manifest | None) -> None:
        version = meta.get("resourceVersion")
        if version is not None and (present is None or version != present["metadata"]["resourceVersion"]):
            raise ApiError(409, "the object has been modified")

    def delete(self, kind: str, namespace: str, name: str, uid: str = "") -> bool:
        self._enter("delete", kind, namespace, name)
        present = self.objects.get((kind, namespace, name))
        if present is None or uid not in ("", present["metadata"]["uid"]):
            return False
        del self.objects[kind, namespace, name]
        return True


def _selected(selector: str, labels: Mapping[str, str]) -> bool:
    """Terms `a=b`, `a`, `a in (b,c)` and `a notin (b,c)`."""

    def holds(term: str) -> bool:
        name, _, rest = term.partition(" ")
        if rest:
            word, values = rest.split(" ", 1)
            return (labels.get(name) in values.strip("()").split(",")) == (word == "in")
        name, equal, value = term.partition("=")
        return labels.get(name) == value if equal else name in labels

    return all(holds(term) for term in re.split(r",(?![^(]*\))", selector) if term)


def _has_fields(selector: str, manifest: Mapping[str, Any]) -> bool:
    """Terms `a.b=c`."""

    def value(path: str) -> Any:
        part: Any = manifest
        for name in path.split("."):
            part = (part or {}).get(name)
        return part

    terms = (term.split("=", 1) for term in selector.split(",") if term)
    return all(value(path) == wanted for path, wanted in terms)


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Manifest:
    """A null takes a field away, as in a merge patch."""
    new_meta = dict(old)
    for key, value in new.items():
        if value is None:
            new_meta.pop(key, None)
        else:
            new_meta[key] = _merged(new_meta.get(key) or {}, value) if isinstance(value, Mapping) else value
    return new_meta
