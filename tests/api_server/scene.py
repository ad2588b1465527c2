"""A stream, a query, three nodes and the operator on an API server: what whole rounds are played with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weir_operator.controller.loop import Loop
from weir_operator.kube import names
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.loop import build_loop
from weir_operator.kube.settings import OperatorSettings

from tests.api_server.api_under_test import ApiUnderTest, manifest
from tests.api_server.kubelet import Kubelet

NODES = ("n1", "n2", "n3")
QUICK = {
    "strategy": {"name": "greedy"},
    "cooldown": "0s",
    "drift": {"minHeadroom": 0, "minGain": 1000, "hold": "0s"},
}
"""Plans at once, and moves nothing for a better plan."""
SQL = "SELECT s.k FROM s WHERE s.k > 1"


@dataclass
class ApiScene:
    """A stream on n1, a query that reads it, and the operator."""

    target: ApiUnderTest
    kubelet: Kubelet = field(init=False)
    loop: Loop = field(init=False)
    cluster: KubernetesCluster = field(init=False)

    def __post_init__(self) -> None:
        self.kubelet = Kubelet(self.target, NODES)
        self.write("PlacementPolicy", "default", QUICK)
        stream = {
            "schema": "k BIGINT, ts TIMESTAMP",
            "eventTime": {"column": "ts", "watermark": "1s"},
            "source": {"rate": {"rowsPerSecond": 10}},
            "origin": {"node": "n1"},
            "rate": 10,
        }
        self.write("Stream", "s", stream)
        self.ask(SQL)
        self.start_operator()

    def start_operator(self) -> None:
        """Another replica, without memory."""
        self.cluster = self.replica()
        self.loop = build_loop(self.cluster, self.settings, lambda: True)

    @property
    def settings(self) -> OperatorSettings:
        return OperatorSettings(watch_namespaces=(self.target.namespace,), namespace=self.target.namespace)

    def replica(self) -> KubernetesCluster:
        """The adapter of one."""
        return KubernetesCluster(self.target.api, self.settings)

    def write(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        namespace = "" if kind == "PlacementPolicy" else self.target.namespace
        self.target.admin.apply(manifest(kind, namespace, name, spec=spec), "user")

    def ask(self, sql: str, **more: Any) -> None:
        self.write("StreamQuery", "q", {"sql": sql, "sink": {"noop": {}}, **more})

    def until(self, condition: Callable[[], object], rounds: int = 60) -> None:
        """Rounds, and a step of every pod after each."""
        for _ in range(rounds):
            if condition():
                return
            self.loop.once()
            self.kubelet.step()
        raise AssertionError(
            f"not within {rounds} rounds: {self.of('StreamQuery').get('status')} {self.pods()}"
        )

    def of(self, kind: str, name: str = "q") -> dict[str, Any]:
        return self.target.admin.get(kind, self.target.namespace, name) or {}

    def pods(self) -> dict[str, str]:
        """Name of each driver -> its node."""
        pods = self.target.admin.list("Pod", self.target.namespace, names.DRIVERS)
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in pods}

    def condition(self, kind: str, part: str = "status") -> str:
        conditions = self.of("StreamQuery").get("status", {}).get("conditions", ())
        return next((str(c[part]) for c in conditions if c["type"] == kind), "")

    def why(self) -> str:
        """It is not ready."""
        return "" if self.condition("Ready") == "True" else self.condition("Ready", "message")

    def fragment(self, pod: str) -> str:
        return pod.rsplit("-e", 1)[0]

    def ready(self) -> bool:
        return self.condition("Ready") == "True" and self.condition("Reconciling") != "True"

    def events(self) -> set[str]:
        return {event["reason"] for event in self.target.admin.list("Event", self.target.namespace)}

    def versions(self) -> dict[str, str]:
        """Of everything that the operator writes."""
        kinds = (
            "Placement",
            "StreamQuery",
            "Stream",
            "Pod",
            "Role",
            "RoleBinding",
            "ServiceAccount",
            "Event",
        )
        return {
            f"{kind}/{m['metadata']['name']}": m["metadata"]["resourceVersion"]
            for kind in kinds
            for m in self.target.admin.list(kind, self.target.namespace)
        }
