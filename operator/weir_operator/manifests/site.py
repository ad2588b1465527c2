"""Where objects are to run, as far as it bears on what they may say: of files, and of secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weir_placement.model.location import STORE, files_location

from weir_operator.api.connectors import Files
from weir_operator.api.query import StreamQuery
from weir_operator.manifests.finding import Finding, Key, shown


@dataclass(frozen=True)
class Site:
    """`files` is the folder with one of each namespace, below which URIs lie; None: a URI is as it says.
    `secrets`: whether variables can come from them."""

    files: str | None = None
    secrets: bool = True

    def root(self, namespace: str) -> str:
        """The namespace's own folder, without a '/' at its end."""
        return f"{self.files}/{namespace}"

    def anchored(self, connector: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
        """A source or sink whose relative URI is below the root of its object's namespace."""
        files = connector.get("files") or {}
        uri = files.get("uri")
        if self.files is None or uri is None or uri.startswith("/") or files_location(files).kind == STORE:
            return connector
        return {**connector, "files": {**files, "uri": f"{self.root(namespace)}/{uri}"}}

    def outside(self, files: Files | None, key: Key, path: str) -> Iterator[Finding]:
        """What is wrong with an absolute URI that leaves its namespace's root, or with keys to a store."""
        if files is not None and files.location.kind == STORE:
            yield from self._keys(files, key, path)
        if self.files is None or files is None or not files.uri.startswith("/"):
            return
        if not files.uri.startswith(f"{self.root(key.namespace)}/"):
            wrong = f"{shown(files.uri)} is not below {self.root(key.namespace)}, the namespace's root"
            right = f"write it relative to that, as {files.uri.rsplit('/', 1)[-1] or 'in/clicks'}"
            yield Finding(key, f"{path}.uri", wrong, right)

    def _keys(self, files: Files, key: Key, path: str) -> Iterator[Finding]:
        """A pod has none of its own but those of its node, which are not its namespace's."""
        secret = files.s3.secret_ref if files.s3 else None
        if secret is None and self.files is not None:
            wrong, right = "pods have no keys of an object store", "name a secret of their namespace"
            yield Finding(key, f"{path}.s3.secretRef", wrong, right)
        if secret is not None and not self.secrets:
            wrong = "`weir run` reads no secret"
            right = "leave it out, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            yield Finding(key, f"{path}.s3.secretRef", wrong, right)

    def hidden(self, item: StreamQuery, key: Key) -> Iterator[Finding]:
        """Variables whose value cannot be had."""
        for i, entry in enumerate(item.spec.env):
            if entry.secret_ref is not None and not self.secrets:
                wrong, right = "`weir run` reads no secret", "write value, for a run on this machine"
                yield Finding(key, f"spec.env[{i}].secretRef", wrong, right)


ANYWHERE = Site()
HERE = Site(secrets=False)
"""Processes of this machine."""
