"""A cluster in memory with the whole operator on it: the loop over the Kubernetes port over an API server,
and kubelets whose drivers take their leases at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.loop import Loop
from weir_operator.controller.settings import Settings
from weir_operator.controller.times import micro_time, timestamp
from weir_operator.kube import names
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.driver_pod import SITE
from weir_operator.kube.loop import LAYOUT, NothingToSweep
from weir_operator.kube.settings import OperatorSettings

from tests.controller.scenario import NoMetrics
from tests.kube.memory import Manifest, Memory

BEGIN = 1767225600.0
HOME = "weir-system"


class KubeScenario:
    """Time passes with each round: five seconds."""

    def __init__(self, *objects: Manifest, memory: Memory | None = None, **settings: Any) -> None:
        self.now = BEGIN
        self.memory = memory or Memory()
        for manifest in objects:
            self.memory.put(manifest)
        self.cluster = KubernetesCluster(
            self.memory.api, OperatorSettings(namespace=HOME, **settings), lambda: self.now
        )
        site = replace(SITE, hosts=bool(settings.get("hosts")))
        builder = DesiredStateBuilder(self.cluster.matrices.readers, executors=True, site=site)
        self.loop = Loop(
            self.cluster, NoMetrics(), NothingToSweep(), builder, Settings(LAYOUT), lambda: self.now
        )

    def round(self) -> None:
        """One round of the loop, and what kubelets and drivers do after it."""
        self.now += 5.0
        self.loop.once()
        for (kind, _, _), manifest in list(self.memory.objects.items()):
            if kind == "Pod" and "deletionTimestamp" in manifest["metadata"]:
                self._end(manifest)
            elif kind == "Pod":
                self._live(manifest)

    def settle(self, rounds: int = 12) -> None:
        """So many rounds are enough for anything to start."""
        for _ in range(rounds):
            self.round()

    def of(self, kind: str, namespace: str) -> dict[str, Manifest]:
        """Objects of a kind in a namespace, by name."""
        return {n: m for (k, ns, n), m in self.memory.objects.items() if (k, ns) == (kind, namespace)}

    def _live(self, pod: Manifest) -> None:
        meta = pod["metadata"]
        labels = meta.get("labels") or {}
        mine = isinstance(labels, dict) and labels.get(names.MANAGED_BY) == "weir"
        if mine and labels.get(names.ROLE) == "sweep":
            self.memory.put({**pod, "status": {"phase": "Succeeded"}})
        if not mine or labels.get(names.ROLE) != "driver":
            return
        if isinstance(pod["spec"], dict) and not pod["spec"].get("nodeName"):
            node = meta["annotations"][names.NODE]
            self.memory.put({**pod, "spec": {**pod["spec"], "nodeName": node}, "status": self._ready()})
        lease = self.memory.objects.get(("Lease", meta["namespace"], str(labels[names.FRAGMENT])))
        epoch = names.epoch_number(str(labels[names.EPOCH]))
        if lease is not None and epoch is not None:
            self._renew(lease, epoch, meta["name"])

    def _end(self, pod: Manifest) -> None:
        """Its driver has released its lease."""
        meta = pod["metadata"]
        del self.memory.objects["Pod", meta["namespace"], meta["name"]]
        fragment = str((meta.get("labels") or {}).get(names.FRAGMENT))
        lease = self.memory.objects.get(("Lease", meta["namespace"], fragment))
        if lease is not None:
            notes = {**(lease["metadata"].get("annotations") or {}), names.RELEASED: "true"}
            self.memory.put({**lease, "metadata": {**lease["metadata"], "annotations": notes}})

    def _ready(self) -> dict[str, Any]:
        at = timestamp(self.now)
        container = {
            "name": "driver",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": at}},
        }
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": at}
        return {"phase": "Running", "conditions": [ready], "containerStatuses": [container]}

    def _renew(self, lease: Manifest, epoch: int, pod: str) -> None:
        spec = {
            "holderIdentity": f"{pod}:7:1",
            "leaseTransitions": epoch,
            "renewTime": micro_time(self.now),
            "leaseDurationSeconds": 10,
        }
        before = lease.get("spec") or {}
        if not before or (
            isinstance(before, dict) and {**before, "renewTime": 0} == {**spec, "renewTime": 0}
        ):
            self.memory.put({**lease, "spec": spec})


def node(name: str, taint: str = "", **labels: str) -> Manifest:
    status = {
        "allocatable": {"cpu": "4", "memory": "16Gi"},
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(BEGIN)}],
    }
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    return _object("Node", "", name, spec={"taints": taints}, status=status, labels=labels)


def stream(namespace: str, name: str, node: str) -> Manifest:
    spec = {
        "schema": "k BIGINT, ts TIMESTAMP",
        "eventTime": {"column": "ts", "watermark": "1s"},
        "source": {"files": {"uri": name, "format": "arrow"}},
        "origin": {"node": node},
        "rate": 10,
    }
    return _object("Stream", namespace, name, spec=spec)


def query(namespace: str, name: str, stream: str, **more: Any) -> Manifest:
    sink = {"files": {"uri": f"{name}-out", "format": "parquet"}}
    spec = {"sql": f"SELECT s.k FROM {stream} AS s WHERE s.k > 1", "sink": sink, **more}
    return _object("StreamQuery", namespace, name, spec=spec)


def policy(name: str, **spec: Any) -> Manifest:
    return _object("PlacementPolicy", "", name, spec=spec)


def topology(name: str, config_map: str, nodes: tuple[str, ...]) -> Manifest:
    """Its latencies are in a ConfigMap."""
    reference = {"namespace": HOME, "name": config_map, "key": "rtt"}
    return _object(
        "NetworkTopology", "", name, spec={"matrix": {"configMapRef": reference, "nodes": [*nodes]}}
    )


def config_map(name: str, nodes: int) -> Manifest:
    """A millisecond between any two."""
    rows = ["\t".join("0" if i == j else "1" for j in range(nodes)) for i in range(nodes)]
    return _object("ConfigMap", HOME, name, data={"rtt": "\n".join(rows)})


def plain(kind: str, namespace: str, name: str, **more: Any) -> Manifest:
    """Any other object."""
    return _object(kind, namespace, name, **more)


def _object(kind: str, namespace: str, name: str, **more: Any) -> Manifest:
    version = "weir.dev/v1alpha1" if kind not in ("Node", "ConfigMap") else "v1"
    scope = {"namespace": namespace} if namespace else {}
    labels = more.pop("labels", {})
    meta = {
        "name": name,
        "generation": 1,
        "creationTimestamp": timestamp(BEGIN - 600),
        "labels": labels,
        **scope,
    }
    return {"apiVersion": version, "kind": kind, "metadata": meta, **more}
