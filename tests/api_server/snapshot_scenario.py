"""A query that runs in a scene, and pods that copy it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.api_server.scene import ApiScene
from tests.api_server.snapshot_pods import SnapshotPodsUnderTest


class SnapshotScenario:
    """A query that runs, and pods that copy it."""

    def __init__(self, scene: ApiScene, volume: Path) -> None:
        self.scene, self.pods = scene, SnapshotPodsUnderTest(scene.target, volume)
        scene.until(scene.ready)
        self.pods.write_checkpoints(scene.of("Placement"))

    def ask(self, name: str = "s1", **spec: Any) -> None:
        self.scene.write("QuerySnapshot", name, spec or {"query": "q"})

    def says(self, kind: str = "Ready", part: str = "status", name: str = "s1") -> str:
        conditions = self.scene.of("QuerySnapshot", name).get("status", {}).get("conditions", ())
        return next((str(c[part]) for c in conditions if c["type"] == kind), "")

    def until(self, condition: Any, rounds: int = 30) -> None:
        for _ in range(rounds):
            if condition():
                return
            self.scene.loop.once()
            self.pods.step()
            self.scene.kubelet.step()
        raise AssertionError(f"{self.scene.of('QuerySnapshot', 's1')} {self.snapshot_pods()}")

    def complete(self, name: str = "s1") -> bool:
        return self.says(name=name) == "True"

    def snapshot_pods(self) -> set[str]:
        pods = self.scene.target.admin.list("Pod", self.scene.target.namespace)
        return {name for pod in pods if "." in (name := pod["metadata"]["name"])}
