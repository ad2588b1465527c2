"""What pods of snapshots do, played by the runtime's own code on real files: a folder of the test stands for
the volume, and each pod writes with the rights that the operator has given it."""

from __future__ import annotations

import base64
import gzip
import json
import ssl
from pathlib import Path
from typing import Any

from weir_operator.kube import names
from weir_operator.kube.snapshots import PODS
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_runtime.api_server import KeptConnections, Server
from weir_runtime.snapshots.job import CANNOT, Connections, Job, perform, report_to
from weir_runtime.snapshots.manifest import SnapshotError

from tests.api_server.api_under_test import ApiUnderTest, OnServer

VOLUME = "/var/lib/weir"


class InMemoryRequests:
    """Of the one pod that may write its QuerySnapshot."""

    def __init__(self, target: ApiUnderTest) -> None:
        self._world = target

    def send(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        *_, namespace, _, name = path.removesuffix("/status").split("/")
        if body:
            written = json.loads(body)
            version = {"resourceVersion": written["metadata"]["resourceVersion"]}
            patch = {"metadata": version, "status": written["status"]}
            self._world.admin.merge("QuerySnapshot", namespace, name, patch, "status")
        return 200, json.dumps(self._world.admin.get("QuerySnapshot", namespace, name)).encode()


class SnapshotPodsUnderTest:
    """Those of one namespace."""

    def __init__(self, target: ApiUnderTest, volume: Path) -> None:
        self.target, self.volume = target, volume
        self.done: list[str] = []

    def step(self) -> None:
        """Each pod that waits does its work."""
        for pod in list(self.target.admin.list("Pod", self.target.namespace, PODS)):
            if pod["status"].get("phase") == "Pending" and "deletionTimestamp" not in pod["metadata"]:
                self._run(pod)

    def _run(self, pod: dict[str, Any]) -> None:
        text = gzip.decompress(base64.b64decode(pod["metadata"]["annotations"][f"{names.GROUP}/job"]))
        raw = json.loads(text.decode().replace(VOLUME, str(self.volume)))
        job = Job(**{**raw, "specs": tuple(raw.get("specs", ()))})
        try:
            perform(job, "here", report_to(self._requests(pod)))
        except (SnapshotError, FragmentError) as error:
            self.end(pod["metadata"]["name"], "Failed", CANNOT, str(error))
        else:
            self.done.append(job.verb)
            self.end(pod["metadata"]["name"], "Succeeded", 0)

    def _requests(self, pod: dict[str, Any]) -> Connections:
        if not isinstance(self.target, OnServer):
            return InMemoryRequests(self.target)
        account = pod["spec"].get("serviceAccountName", "default")
        path = f"/api/v1/namespaces/{self.target.namespace}/serviceaccounts/{account}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        answer = self.target.admin.call("POST", path, request)
        context = ssl.create_default_context(cafile=str(self.target.server.authority))
        token = str(answer["status"]["token"])
        return KeptConnections(Server("127.0.0.1", self.target.server.port, lambda: token, context), 30.0)

    def end(self, pod: str, phase: str, code: int, message: str = "") -> None:
        ended = {"terminated": {"exitCode": code, "message": message}}
        container = {"name": "snapshot", "ready": False, "restartCount": 0, "image": "i", "imageID": "i"}
        status = {"phase": phase, "containerStatuses": [{**container, "state": ended}]}
        self.target.admin.merge("Pod", self.target.namespace, pod, {"status": status}, "status")

    def write_checkpoints(self, placement: dict[str, Any]) -> None:
        """What the drivers of a plan leave after a batch."""
        specs = json.dumps(placement["spec"]["plan"]["told"]).replace(VOLUME, str(self.volume))
        for raw in json.loads(specs):
            spec = FragmentSpec.from_json(json.dumps(raw))
            folder = Path(spec.checkpoint) / "0123456789ab"
            for name in ("offsets", "commits", "state/0/0"):
                (folder / name).mkdir(parents=True)
            (folder / "numbering.json").write_text('{"format": 1, "numbering": "n", "spark": "4.2.0"}')
            ends = [{"input": item.name, "at": {"next": 1, "of": "n"}} for item in spec.inputs]
            lines = ["v1", '{"batchWatermarkMs": 0}', *map(json.dumps, ends)]
            (folder / "offsets" / "0").write_text("\n".join(lines))
            (folder / "commits" / "0").write_text("v1\n{}")
            (folder / "state" / "0" / "0" / "1.delta").write_text("rows")
            if spec.output.flow is not None:
                Path(spec.output.flow.address).mkdir(parents=True)
                (Path(spec.output.flow.address) / "0000000000.arrow").write_text("0")

    def checkpoints(self) -> set[str]:
        """Fragments that have one."""
        return {path.parent.parent.name for path in self.volume.glob("checkpoints/*/*/*/numbering.json")}
