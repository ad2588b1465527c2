"""Objects as the API server gives them, over processes in memory: all that the loop does between the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weir_operator.controller.decision import WriteStatus
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.loop import Loop
from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.ports import ClusterState
from weir_operator.controller.settings import Settings

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import LAYOUT, FakeExchange, NoMetrics

CLUSTER_WIDE = ("Node", "PlacementPolicy", "NetworkTopology")


def manifest(kind: str, name: str, spec: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    version = "v1" if kind in ("Node", "ResourceQuota", "LimitRange") else "weir.dev/v1alpha1"
    scope = {} if kind in CLUSTER_WIDE else {"namespace": "default"}
    meta = {"name": name, "uid": f"{kind}-{name}", "generation": 1, **scope}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec, **more}


def node(name: str, **labels: str) -> dict[str, Any]:
    status = {
        "allocatable": {"cpu": "2", "memory": "8Gi"},
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"}],
    }
    raw = manifest("Node", name, {}, status=status)
    return {**raw, "metadata": {**raw["metadata"], "labels": labels}}


def stream(name: str, node: str) -> dict[str, Any]:
    spec = {
        "schema": "k BIGINT, ts TIMESTAMP",
        "eventTime": {"column": "ts", "watermark": "1s"},
        "source": {"files": {"uri": "/in", "format": "arrow"}},
        "origin": {"node": node},
        "rate": 10,
    }
    return manifest("Stream", name, spec)


def query(name: str, stream: str, policy: str = "default") -> dict[str, Any]:
    spec = {"sql": f"SELECT s.k FROM {stream} AS s WHERE s.k > 1", "policy": policy}
    return manifest("StreamQuery", name, spec)


@dataclass
class ObjectCluster(FakeCluster):
    """The processes of `FakeCluster` and users' objects, whose statuses are what was written last."""

    objects: list[Manifest] = field(default_factory=list)
    written: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def observe(self) -> ClusterState:
        observed = super().observe()
        placements = tuple(o for o in observed.objects if o.get("kind") == "Placement")
        return replace(observed, objects=placements + tuple(map(self._with_status, self.objects)))

    def write_status(self, status: WriteStatus) -> None:
        self.written[status.kind, status.name] = status.status
        super().write_status(status)

    def _with_status(self, raw: Manifest) -> Manifest:
        meta = raw.get("metadata")
        name = meta.get("name") if isinstance(meta, Mapping) else None
        status = self.written.get((str(raw.get("kind")), str(name)))
        return {**raw, "status": status} if status else raw

    def condition(self, query: str, kind: str) -> Mapping[str, Any]:
        present = self.written["StreamQuery", query]["conditions"]
        return next(c for c in present if c["type"] == kind)

    def of_query(self, query: str) -> dict[tuple[str, int], str]:
        """Its processes' nodes by fragment and epoch."""
        return {key: p.planned_node for key, p in self.processes.items() if key[0].startswith(f"{query}-")}


def object_loop(cluster: ObjectCluster) -> Loop:
    builder, settings = DesiredStateBuilder(), Settings(LAYOUT)
    return Loop(cluster, NoMetrics(), FakeExchange(), builder, settings, lambda: cluster.time)
