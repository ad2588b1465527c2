"""All objects of one input, by kind and name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from weir_operator.api.base import Metadata
from weir_operator.api.kinds import Object
from weir_operator.api.node import Node
from weir_operator.api.placement import Placement
from weir_operator.api.policy import PlacementPolicy
from weir_operator.api.profile import InputProfile
from weir_operator.api.query import StreamQuery
from weir_operator.api.query_snapshot import QuerySnapshot
from weir_operator.api.stream import Stream
from weir_operator.api.tenancy import LimitRange, ResourceQuota
from weir_operator.api.topology import NetworkTopology
from weir_operator.manifests.finding import Finding, Key, isolated
from weir_operator.manifests.parse import key_of, parse
from weir_operator.manifests.read import Document

ParsedObject = tuple[Object | None, list[Finding]]
"""What `parse` returns."""


@dataclass(frozen=True)
class Objects:
    """Objects by full name (`namespace/name`, or the name of a cluster-wide one)."""

    streams: dict[str, Stream] = field(default_factory=dict)
    queries: dict[str, StreamQuery] = field(default_factory=dict)
    profiles: dict[str, InputProfile] = field(default_factory=dict)
    policies: dict[str, PlacementPolicy] = field(default_factory=dict)
    topologies: dict[str, NetworkTopology] = field(default_factory=dict)
    placements: dict[str, Placement] = field(default_factory=dict)
    snapshots: dict[str, QuerySnapshot] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    quotas: dict[str, ResourceQuota] = field(default_factory=dict)
    limit_ranges: dict[str, LimitRange] = field(default_factory=dict)
    config_maps: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # raw: for matrices
    documents: dict[Key, Document] = field(default_factory=dict)  # of objects that came from files

    def of_kind(self, kind: str) -> dict[str, Any]:
        """The mapping that holds objects of a kind."""
        kinds: dict[str, dict[str, Any]] = {
            "Stream": self.streams,
            "StreamQuery": self.queries,
            "InputProfile": self.profiles,
            "PlacementPolicy": self.policies,
            "NetworkTopology": self.topologies,
            "Placement": self.placements,
            "QuerySnapshot": self.snapshots,
            "Node": self.nodes,
            "ResourceQuota": self.quotas,
            "LimitRange": self.limit_ranges,
        }
        return kinds[kind]

    def add(self, item: Object) -> None:
        """Add an object, in place of one with the same name."""
        namespace = item.metadata.namespace
        name = f"{namespace}/{item.metadata.name}" if namespace else item.metadata.name
        self.of_kind(item.kind)[name] = item

    def get(self, key: Key) -> Object | None:
        """The object with this identity."""
        item: Object | None = self.of_kind(key.kind).get(key.full_name)
        return item

    def policy(self, name: str) -> PlacementPolicy | None:
        """A policy; `default` is built in."""
        return self.policies.get(name) or (default_policy() if name == "default" else None)

    def topology(self, name: str) -> NetworkTopology | None:
        """A topology; `default` is built in."""
        return self.topologies.get(name) or (default_topology() if name == "default" else None)

    def place(self, finding: Finding) -> Finding:
        """The finding with its file and line, when its object came from a file."""
        document = self.documents.get(finding.object) if finding.object else None
        return (
            finding.at(document.file, *document.place(finding.path, finding.within)) if document else finding
        )


@cache
def default_policy() -> PlacementPolicy:
    """The built-in policy; created on first use, because its validators take a while to build."""
    return PlacementPolicy(metadata=Metadata(name="default"))


@cache
def default_topology() -> NetworkTopology:
    """The built-in topology: no latency, unlimited bandwidth."""
    return NetworkTopology(metadata=Metadata(name="default"))


def from_documents(
    documents: Iterable[Document], namespace: str = "default"
) -> tuple[Objects, list[Finding]]:
    """Objects of files, and every error in every object; an object that is defined twice is an error,
    but a Node that is the same in both places."""
    objects, findings = Objects(), []
    for document in documents:
        if document.raw.get("kind") == "ConfigMap":
            objects.config_maps[_map_name(document.raw, namespace)] = document.raw
            continue
        item, errors = parse(document.raw, namespace)
        findings += [error.at(document.file, document.line(error.path)) for error in errors]
        key = key_of(document.raw, namespace)
        other = objects.documents.get(key)
        if other is not None and key.kind == "Node" and other.raw == document.raw:
            continue  # each folder of `weir init` has this machine
        if other is not None:
            wrong = f"is defined twice, first at {other.file}:{other.line()}"
            findings.append(Finding(key, "", wrong, "keep one", file=document.file, line=document.line()))
        elif key.name:
            objects.documents[key] = document
            if item is not None:
                objects.add(item)
    return objects, findings


class Reader:
    """Reads the same objects again and again; an object is parsed again only when it has changed."""

    def __init__(self) -> None:
        self._cache: dict[tuple[str, str], ParsedObject] = {}  # by uid and resourceVersion

    def __call__(self, manifests: Iterable[Mapping[str, Any]]) -> tuple[Objects, list[Finding]]:
        """As `from_raw`. The objects are shared between calls and must not be changed."""
        by_version: dict[tuple[str, str], ParsedObject] = {}

        def parse_or_reuse(raw: Mapping[str, Any]) -> ParsedObject:
            metadata = raw["metadata"]
            version = str(metadata.get("uid", "")), str(metadata.get("resourceVersion", ""))
            if not all(version):
                return parse(raw)
            by_version[version] = self._cache.get(version) or parse(raw)
            return by_version[version]

        result = from_raw(manifests, parse_or_reuse)
        self._cache = by_version
        return result


def from_raw(
    manifests: Iterable[Mapping[str, Any]], parse: Callable[[Mapping[str, Any]], ParsedObject] = parse
) -> tuple[Objects, list[Finding]]:
    """Objects as the API server has them; those with errors are left out, and the errors returned."""
    objects, findings = Objects(), []
    for raw in manifests:
        if raw.get("kind") == "ConfigMap":
            objects.config_maps[_map_name(raw, "default")] = raw
            continue
        item, errors = isolated(key_of(raw), partial(parse, raw), None)
        findings += errors
        if item is not None:
            objects.add(item)
    return objects, findings


def _map_name(raw: Mapping[str, Any], namespace: str) -> str:
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return f"{metadata.get('namespace') or namespace}/{metadata.get('name')}"
