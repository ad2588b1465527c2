"""Measured latencies of a NetworkTopology, from ConfigMaps in the operator's own namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weir_operator.api.topology import Matrix
from weir_operator.kube.api import Api
from weir_operator.manifests.network import Read, reader
from weir_operator.manifests.objects import Objects

FRESH_SECONDS = 30.0  # they are up to a megabyte, and change rarely


class Matrices:
    """The ConfigMaps that topologies refer to, at most half a minute old.

    Only those in the operator's own namespace: it may read no others, so the author of a NetworkTopology
    cannot make it read ConfigMaps of other people.
    """

    def __init__(self, api: Api, namespace: str, clock: Callable[[], float]) -> None:
        self._api = api
        self._namespace = namespace
        self._clock = clock
        self._cache: dict[str, tuple[float, dict[str, Any] | None]] = {}

    def objects(self, topologies: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The ConfigMaps that exist. Raises ApiError."""
        references = [
            ((t.get("spec") or {}).get("matrix") or {}).get("configMapRef") or {} for t in topologies
        ]
        names = {r["name"] for r in references if r.get("namespace") == self._namespace}
        now = self._clock()
        self._cache = {
            name: entry
            for name, entry in self._cache.items()
            if name in names and now - entry[0] < FRESH_SECONDS
        }
        for name in names - self._cache.keys():
            self._cache[name] = (now, self._api.get("ConfigMap", self._namespace, name))
        manifests = (manifest for _, manifest in self._cache.values() if manifest is not None)
        return [{**manifest, "kind": "ConfigMap"} for manifest in manifests]

    def readers(self, objects: Objects) -> Mapping[str, Read]:
        """How the matrix of each topology is read: from a ConfigMap here, never from a file."""

        def read(matrix: Matrix) -> bytes:
            reference = matrix.config_map_ref
            if reference is None:
                raise KeyError("a file is read only on the command line: put the matrix into a ConfigMap")
            if reference.namespace != self._namespace:
                raise KeyError(f"the ConfigMap must be in the operator's namespace, {self._namespace}")
            return reader("", objects.config_maps)(matrix)

        return dict.fromkeys(objects.topologies, read)
