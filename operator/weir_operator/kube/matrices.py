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
    """The ConfigMaps that topologies refer to, as they were half a minute ago at most.

    Only those beside the operator: it may read no other, so whoever may write a NetworkTopology cannot
    have it read what is not his.
    """

    def __init__(self, api: Api, namespace: str, clock: Callable[[], float]) -> None:
        self._api = api
        self._namespace = namespace
        self._clock = clock
        self._read: dict[str, tuple[float, dict[str, Any] | None]] = {}

    def objects(self, topologies: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The ConfigMaps that there are. Raises ApiError."""
        references = [
            ((t.get("spec") or {}).get("matrix") or {}).get("configMapRef") or {} for t in topologies
        ]
        names = {r["name"] for r in references if r.get("namespace") == self._namespace}
        now = self._clock()
        self._read = {
            name: entry
            for name, entry in self._read.items()
            if name in names and now - entry[0] < FRESH_SECONDS
        }
        for name in names - self._read.keys():
            self._read[name] = (now, self._api.get("ConfigMap", self._namespace, name))
        return [{**found, "kind": "ConfigMap"} for _, found in self._read.values() if found is not None]

    def readers(self, objects: Objects) -> Mapping[str, Read]:
        """How the matrix of each topology is read: from a ConfigMap here, never from a file."""

        def read(matrix: Matrix) -> bytes:
            reference = matrix.config_map_ref
            if reference is None:
                raise KeyError("a file is for the command line alone: put the matrix into a ConfigMap")
            if reference.namespace != self._namespace:
                raise KeyError(f"the ConfigMap must be in the operator's namespace, {self._namespace}")
            return reader("", objects.config_maps)(matrix)

        return dict.fromkeys(objects.topologies, read)
