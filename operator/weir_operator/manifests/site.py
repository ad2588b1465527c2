"""Where objects are to run, which decides which files, Secrets and pods they may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import abspath, join, normpath
from typing import Any

from weir_placement.model.location import SCHEME, STORE, Location, files_location

from weir_operator.api.connectors import Files, KafkaTopic
from weir_operator.api.policy import FilesExchange, KafkaExchange, PlacementPolicy
from weir_operator.api.query import StreamQuery
from weir_operator.api.query_snapshot import QuerySnapshot
from weir_operator.manifests.finding import Finding, Key, shown

FilesPlace = tuple[str, str]
"""What is equal where two name one place: the store (or whose folders they are) and a path."""


@dataclass(frozen=True)
class Site:
    """`files` is the folder that has a root folder for each namespace, in which relative URIs lie; None: URIs
    stay as they are. `secrets`: whether Secrets can be read. `executors`: whether fragments may have them.
    `tenants`: whether namespaces are closed to each other, and pods copy snapshots. `hosts`: whether
    fragments may share a process."""

    files: str | None = None
    secrets: bool = True
    executors: bool = True
    tenants: bool = True
    hosts: bool = True

    def root(self, namespace: str) -> str:
        """The namespace's own folder, without a '/' at the end."""
        return f"{self.files}/{namespace}"

    def place(self, location: Location, namespace: str) -> FilesPlace:
        """Of files of an object in a namespace. Relative paths of two namespaces are two places, except on
        one machine."""
        if location.kind == STORE:
            endpoint = str(location.options.get("endpoint") or "").rstrip("/")
            return endpoint or SCHEME, normpath(location.address.removeprefix(SCHEME))
        if self.files is not None:
            return "", normpath(join(self.root(namespace), location.address))
        return (namespace, normpath(location.address)) if self.tenants else ("", abspath(location.address))

    def anchored(self, connector: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
        """The source or sink with a relative URI placed below the root of its object's namespace."""
        files = connector.get("files") or {}
        uri = files.get("uri")
        if self.files is None or uri is None or uri.startswith("/") or files_location(files).kind == STORE:
            return connector
        return {**connector, "files": {**files, "uri": f"{self.root(namespace)}/{uri}"}}

    def outside(self, files: Files | None, key: Key, path: str) -> Iterator[Finding]:
        """Findings about an absolute URI outside its namespace's root, or about keys for a store."""
        if files is not None and files.location.kind == STORE:
            yield from self._no_keys(files, key, path)
            yield from self.keys(files, key, path)
        if self.files is None or files is None or not files.uri.startswith("/"):
            return
        if not files.uri.startswith(f"{self.root(key.namespace)}/"):
            wrong = f"{shown(files.uri)} is not below {self.root(key.namespace)}, the namespace's root"
            right = f"write it relative to that, for example {files.uri.rsplit('/', 1)[-1] or 'in/clicks'}"
            yield Finding(key, f"{path}.uri", wrong, right)

    def _no_keys(self, files: Files, key: Key, path: str) -> Iterator[Finding]:
        """Without a Secret a pod would only have the keys of its node, which are not its namespace's."""
        if self.files is not None and (files.s3 is None or files.s3.secret_ref is None):
            wrong, right = "pods have no keys for an object store", "name a Secret in their namespace"
            yield Finding(key, f"{path}.s3.secretRef", wrong, right)

    def keys(self, files: Files | FilesExchange | None, key: Key, path: str) -> Iterator[Finding]:
        """Findings about a Secret with keys for a store where none can be read."""
        if files is not None and files.s3 is not None and files.s3.secret_ref and not self.secrets:
            wrong = "`weir run` does not read Secrets"
            right = "leave it out, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            yield Finding(key, f"{path}.s3.secretRef", wrong, right)

    def login(self, topic: KafkaTopic | KafkaExchange | None, key: Key, path: str) -> Iterator[Finding]:
        """Findings about Secrets for brokers where none can be read."""
        security = topic.security if topic and not self.secrets else None
        named = {"secretRef": security.secret_ref, "caSecretRef": security.ca_secret_ref} if security else {}
        for field, secret in named.items():
            if secret is not None:
                wrong = "`weir run` does not read Secrets"
                right = "name brokers that want none, or run it in a cluster"
                yield Finding(key, f"{path}.security.{field}", wrong, right)

    def hidden(self, item: StreamQuery, key: Key) -> Iterator[Finding]:
        """Findings about environment variables whose values cannot be read."""
        for i, entry in enumerate(item.spec.env):
            if entry.secret_ref is not None and not self.secrets:
                wrong, right = "`weir run` does not read Secrets", "write `value` to run it on this machine"
                yield Finding(key, f"spec.env[{i}].secretRef", wrong, right)

    def scheduled(self, item: StreamQuery, key: Key) -> Iterator[Finding]:
        """A finding about a schedule of snapshots where nobody serves it."""
        if item.spec.snapshots is not None and not self.tenants:
            right = f"leave it out, and run `weir snapshot {key.name} --keep 7` from a timer"
            yield Finding(key, "spec.snapshots", "the operator of a cluster makes them", right)

    def alone(self, item: StreamQuery, key: Key) -> Iterator[Finding]:
        """A finding about executors where drivers may create no pods."""
        if item.spec.resources.executors and not self.executors:
            wrong, right = "this installation runs no executors", "write 0"
            yield Finding(key, "spec.resources.executors", wrong, right, "NotAllowed")

    def shared(self, policy: PlacementPolicy | None, item: StreamQuery, key: Key) -> Iterator[Finding]:
        """A finding about a policy whose fragments share processes where they cannot."""
        shared = policy is not None and policy.spec.fragments.isolation == "Shared"
        if policy is not None and shared and item.spec.isolation is None and not self.hosts:
            name = policy.metadata.name
            wrong = f"PlacementPolicy {name} has fragments.isolation: Shared; this installation runs no hosts"
            yield Finding(key, "spec.policy", wrong, "write Dedicated there, or isolation: Dedicated here")

    def copied(self, item: QuerySnapshot) -> Iterator[Finding]:
        """A finding about a QuerySnapshot where nobody serves it."""
        if not self.tenants:
            key = Key(item.kind, item.metadata.namespace, item.metadata.name)
            right = "leave it out, and run `weir snapshot` while the query runs"
            yield Finding(key, "kind", "QuerySnapshots exist only in a cluster", right)


ANYWHERE = Site()
HERE = Site(secrets=False, tenants=False)
"""Processes of this machine."""
