"""Where rows lie outside of a process, and how that is reached: a flow, a policy's flows, a user's files.

Each has a tag, which is stored with it (`stored`, `decoded`). Earlier versions stored none: of what they
wrote, address and options say the kind (`_untagged_kind`). Names and hashes leave out a tag that these
say too (`hashed_fields`), so that they stay as they were. Nothing but this file and the schema of
manifests, in which users write addresses, looks at an address to learn what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEME = "s3://"
"""How the address of something on an object store begins."""

FOLDER, STORE, TOPIC = "folder", "store", "topic"
TAG = "exchange_kind"
"""The field of a flow's tag in the stored form."""


@dataclass(frozen=True)
class Location:
    """
    Attributes:
        kind: `folder`, `store` (an object store), `topic` (Kafka), or another of `weir_runtime.exchanges`.
        address: a path, `s3://bucket/path`, a topic's name; in the terms of its kind.
        options: how it is reached. Of a store: endpoint, region, secretRef, caSecretRef; of a topic:
            bootstrapServers, security, for its producer also replication, each as in docs/manifests.md.
    """

    kind: str
    address: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Flows:
    """Where all flows between the fragments of a policy's queries lie.

    Attributes:
        kind: as in `Location`.
        address: of one flow, with {root}, {namespace} and {fragment} in it; `root` is that of the layout.
        options: as in `Location`.
        producer: options that its producer alone needs.
        identity: what says where they lie. Another one changes running queries as other operators do.
    """

    kind: str = FOLDER
    address: str = "{root}/exchange/{namespace}/{fragment}"
    options: Mapping[str, Any] = field(default_factory=dict)
    producer: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()

    def written(self, root: str, namespace: str, fragment: str) -> Location:
        """One flow, as the fragment that writes it needs it."""
        address = self.address.format(root=root, namespace=namespace, fragment=fragment)
        return Location(self.kind, address, dict(self.options))

    def read(self, root: str, namespace: str, fragment: str) -> Location:
        """The same flow, as those need it that read it."""
        options = {name: value for name, value in self.options.items() if name not in self.producer}
        return Location(self.kind, self.written(root, namespace, fragment).address, options)

    def below(self, root: str, namespace: str) -> str:
        """What the addresses of all flows of a namespace begin with."""
        return self.address.format(root=root, namespace=namespace, fragment="")


def files_location(connector: Mapping[str, Any]) -> Location:
    """Of a files source or sink as its object has it: `uri` and, on an object store, `s3`."""
    uri = str(connector.get("uri", ""))
    return Location(STORE, uri, connector.get("s3") or {}) if _is_store(uri) else Location(FOLDER, uri)


def stored(location: Location, address: str) -> dict[str, Any]:
    """A flow's part of the stored form: `address` is the field's name there."""
    return {address: location.address, "options": location.options, TAG: location.kind}


def hashed_fields(fields: Mapping[str, Any], address: str) -> dict[str, Any]:
    """A stored form as names and hashes have it: as versions without tags wrote it, where they could."""
    redundant = TAG in fields and fields[TAG] == _untagged_kind(fields[address], fields["options"])
    return {name: value for name, value in fields.items() if name != TAG or not redundant}


def decoded(raw: Mapping[str, Any], address: str) -> dict[str, Any]:
    """The fields of a `Location` from what `stored` gave, in this version or an earlier one."""
    where, options = raw.get(address, ""), raw.get("options", {})
    return {"kind": raw.get(TAG) or _untagged_kind(where, options), "address": where, "options": options}


def _untagged_kind(address: object, options: object) -> str:
    """Of a flow that was stored without its tag: there were three kinds, and folders had no options."""
    if _is_store(address):
        return STORE
    return TOPIC if options else FOLDER


def trouble(location: Location) -> tuple[str, str] | None:
    """What is wrong with a location: the field ("" for the address) and the message; None: nothing."""
    parts = location.address.removeprefix(SCHEME).split("/")
    if location.kind == STORE and (len(parts) < 2 or not all(parts)):
        return "", f"{location.address!r}; write {SCHEME}bucket/path"
    if location.kind == TOPIC and not location.options.get("bootstrapServers"):
        return "options.bootstrapServers", "missing; give host:port of the brokers"
    return None if location.address else ("", "missing; give the flow's folder, URI or topic")


def _is_store(address: object) -> bool:
    return str(address).startswith(SCHEME)
