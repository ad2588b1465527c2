"""An API server in memory: the verbs of `kube.api.Api` on a dictionary, as tests/api_server shows them to be
on a real one. What it does not know it refuses loudly (NotImplementedError)."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from weir_operator.kube.api import Api, ApiError, ObjectGone, path_of
from weir_operator.kube.rights import Right

from tests.kube import memory_rules as rules
from tests.kube.field_ownership import Ownership
from tests.kube.memory_selectors import has_fields, selected

Manifest = dict[str, Any]
Key = tuple[str, str, str]
BEGIN = "2026-01-01T00:00:00Z"


class Memory:
    """`refuse` may raise for (verb, kind, namespace, name), as the real one would; with `rights`, whatever is
    not among them is refused. A namespace has to exist only where any does."""

    def __init__(self, *objects: Manifest) -> None:
        self.objects: dict[Key, Manifest] = {}
        self.refuse: Callable[[str, str, str, str], None] = lambda *_: None
        self.rights: tuple[Right, ...] = ()
        self._numbers = itertools.count(1)
        self._owners: dict[str, Ownership] = {}  # by uid
        for manifest in objects:
            self.put(manifest)

    @property
    def api(self) -> Api:
        return cast(Api, self)

    def with_rights(self, rights: tuple[Right, ...]) -> Memory:
        """The same objects, as somebody with other rights sees them."""
        other = copy.copy(self)
        other.rights = rights
        return other

    def put(self, manifest: Manifest) -> Manifest:
        """As if it had been there for long: neither rights nor rules are looked at."""
        key = _key(manifest)
        uid = self.objects[key]["metadata"]["uid"] if key in self.objects else f"uid-{next(self._numbers)}"
        version = str(next(self._numbers))
        stored = {**manifest, "metadata": {"uid": uid, **manifest["metadata"], "resourceVersion": version}}
        self.objects[key] = stored
        return stored

    def names(self, kind: str) -> set[str]:
        return {name for each, _, name in self.objects if each == kind}

    def _enter(self, verb: str, kind: str, namespace: str, name: str, subresource: str = "") -> None:
        self.refuse(verb, kind, namespace, name)
        *_, group, _, resource = ("", *path_of(kind).removeprefix("/api/").removeprefix("/apis/").split("/"))
        rules.check_rights(self.rights, verb, group, resource, name, subresource)

    # reading

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        self._enter("get", kind, namespace, name)
        return copy.deepcopy(self.objects.get((kind, namespace, name)))

    def list(
        self, kind: str, namespace: str = "", selector: str = "", fields: str = ""
    ) -> Iterator[Manifest]:
        self._enter("list", kind, namespace, "")
        for (each, ns, _), manifest in list(self.objects.items()):
            labels = manifest["metadata"].get("labels") or {}
            here = selected(selector, labels) & has_fields(kind, fields, manifest)
            if here and each == kind and (not namespace or ns == namespace):
                yield copy.deepcopy(manifest)
        if not self.objects:  # a selector is read all the same
            selected(selector, {})

    # writing

    def apply(self, manifest: Manifest, manager: str = "weir", subresource: str = "") -> Manifest:
        key = _key(manifest)
        kind = key[0]
        self._enter("apply", *key, subresource)
        rules.check_form(manifest)
        present = self.objects.get(key)
        if subresource and present is None:
            raise ApiError(404, f"{key} not found")
        self._check_versions(manifest["metadata"], present)
        new = rules.part(manifest, subresource)
        rules.check_declared(kind, new)
        if present is None:
            self._check_new(key)
        owners = self._owners_of(present)
        schema = rules.schema_of_kind(kind)
        after = owners.apply(schema, _own(present or {}), _own(new), (manager, "Apply", subresource))
        return self._store(key, present, after, owners)

    def create(self, manifest: Manifest) -> bool:
        key = _key(manifest)
        self._enter("create", *key)
        rules.check_form(manifest)
        self._check_new(key)
        if key in self.objects:
            return False
        if "resourceVersion" in manifest["metadata"]:
            raise ApiError(500, "resourceVersion should not be set on objects to be created")
        owners, new = Ownership(), rules.admitted(rules.pruned(key[0], _own(rules.part(manifest, ""))))
        owners.update(rules.schema_of_kind(key[0]), {}, new, ("weir", "Update", ""))
        self._store(key, None, new, owners)
        return True

    def replace(self, manifest: Manifest) -> Manifest:
        key = _key(manifest)
        self._enter("update", *key)
        rules.check_form(manifest)
        present = self.objects.get(key)
        if "resourceVersion" not in manifest["metadata"]:
            raise ApiError(422, "metadata.resourceVersion: must be specified for an update")
        if present is None:
            if key[0] == "Lease":
                raise NotImplementedError("in memory no update makes an object; a real Lease would be made")
            raise ApiError(404, f"{key} not found")
        self._check_versions(manifest["metadata"], present)
        status = {"status": present["status"]} if "status" in present else {}
        after = rules.pruned(key[0], _own(rules.part(manifest, ""))) | status
        return self._write(key, present, after, "")

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest, subresource: str = "") -> Manifest:
        self._enter("merge", kind, namespace, name, subresource)
        present = self.objects.get((kind, namespace, name))
        if present is None:
            raise ApiError(404, f"{kind} {name} not found")
        self._check_versions(patch.get("metadata", {}), present)
        patch = _own(rules.part({"kind": kind, **patch}, subresource))
        after = rules.pruned(kind, _patched(_own(present), patch))
        return self._write((kind, namespace, name), present, after, subresource)

    def delete(self, kind: str, namespace: str, name: str, uid: str = "") -> bool:
        self._enter("delete", kind, namespace, name)
        present = self.objects.get((kind, namespace, name))
        if present is None or uid not in ("", present["metadata"]["uid"]):
            return False
        if rules.lingers(present):
            meta = {"deletionTimestamp": BEGIN, **present["metadata"]}
            self.objects[kind, namespace, name] = {**present, "metadata": meta}
        else:
            del self.objects[kind, namespace, name]
        return True

    # what a write goes through

    def _owners_of(self, present: Manifest | None) -> Ownership:
        """A copy: what is refused leaves those of before."""
        return copy.deepcopy(self._owners.get(present["metadata"]["uid"]) if present else None) or Ownership()

    def _check_versions(self, meta: Mapping[str, Any], present: Manifest | None) -> None:
        """An object that is gone has no version, so none is compared with it; a uid is."""
        now = present["metadata"] if present else {}
        if "resourceVersion" in meta and present and meta["resourceVersion"] != now["resourceVersion"]:
            raise ApiError(
                409, "the object has been modified; please apply your changes to the latest version"
            )
        if "uid" in meta and meta["uid"] != now.get("uid"):
            raise ApiError(422 if present else 409, "metadata.uid: field is immutable")

    def _check_new(self, key: Key) -> None:
        kind, namespace, name = key
        if namespace and self.names("Namespace"):
            present = self.objects.get(("Namespace", "", namespace))
            if present is None:
                raise ApiError(404, f'namespaces "{namespace}" not found')
            if "deletionTimestamp" in present["metadata"]:
                text = f"unable to create new content in namespace {namespace} because it is being terminated"
                raise ObjectGone(403, f'{kind} "{name}" is forbidden: {text}')
        rules.check_quota(kind, namespace, self.objects.values())

    def _write(self, key: Key, present: Manifest, after: Manifest, subresource: str) -> Manifest:
        owners = self._owners_of(present)
        owners.update(rules.schema_of_kind(key[0]), _own(present), after, ("weir", "Update", subresource))
        return self._store(key, present, after, owners)

    def _store(self, key: Key, present: Manifest | None, after: Manifest, owners: Ownership) -> Manifest:
        """As the rules leave it; with a new version only if anything differs."""
        kind, namespace, name = key
        after = rules.defaulted(kind, {"kind": kind, **after})
        rules.check_object(after, present, self.rights)
        rules.check_size(after)
        system = dict(present["metadata"]) if present else {
            "uid": f"uid-{next(self._numbers)}", "creationTimestamp": BEGIN, "generation": 1,
        }  # fmt: skip
        where = {"name": name, **({"namespace": namespace} if namespace else {})}
        if present and _own(present) == _own(after):
            self._owners[present["metadata"]["uid"]] = owners
            return copy.deepcopy(present)
        kept = {k: v for k, v in system.items() if k in rules.OF_THE_SYSTEM}
        if present and rules.counted(present) != rules.counted(after):
            kept["generation"] = kept.get("generation", 0) + 1
        kept["resourceVersion"] = str(next(self._numbers))
        stored = {**after, "metadata": {**(after.get("metadata") or {}), **where, **kept}}
        self.objects[key] = stored
        self._owners[kept["uid"]] = owners
        if "deletionTimestamp" in kept and not rules.lingers(stored):
            del self.objects[key]
        return copy.deepcopy(stored)


def _key(manifest: Mapping[str, Any]) -> Key:
    meta = manifest["metadata"]
    return manifest["kind"], meta.get("namespace", ""), meta["name"]


def _own(manifest: Mapping[str, Any]) -> Manifest:
    """Without what the API server writes itself."""
    meta = {k: v for k, v in (manifest.get("metadata") or {}).items() if k not in rules.OF_THE_SYSTEM}
    return copy.deepcopy({**manifest, "metadata": meta})


def _patched(old: Mapping[str, Any], patch: Mapping[str, Any]) -> Manifest:
    """A null takes a field away, as in a merge patch."""
    result = dict(old)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            before = result.get(name)
            before = before if isinstance(before, Mapping) else {}
            result[name] = _patched(before, value) if isinstance(value, Mapping) else value
    return result
