"""The operator on an API server, and hosts as processes of this machine, as their kubelets would run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.loop import Loop
from weir_operator.controller.settings import Settings
from weir_operator.controller.times import timestamp
from weir_operator.kube import names
from weir_operator.kube.api import path_of
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.settings import OperatorSettings
from weir_operator.manifests.site import Site
from weir_placement.fragments import Layout

from tests.api_server.api_under_test import OnServer, manifest
from tests.api_server.kubelet import Kubelet
from tests.api_server.scene import QUICK
from tests.api_server.server import free_port
from tests.controller.scenario import NoMetrics
from tests.runtime.support import append_batch, sink_rows

PROGRAM = """
import os, ssl, sys
from pathlib import Path
from weir_runtime import api_server, host
from weir_runtime.session import end

context = ssl.create_default_context(cafile=os.environ["AUTHORITY"])
token = Path(os.environ["TOKEN"]).read_text()
api_server.Server.of_pod = staticmethod(
    lambda server, port: api_server.Server(server, port, lambda: token, context)
)
code = host.main(sys.argv[1:])
end()
os._exit(code)
"""
"""As `weir_runtime.host`, with the account's token from elsewhere than a pod has it."""


@dataclass
class HostProcesses:
    """Kubelets of a few nodes: each host's Pod is a process here, restarted when it ends."""

    target: OnServer
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)  # by uid of the pod
    restarts: Counter[str] = field(default_factory=Counter)

    def step(self) -> None:
        for pod in list(self.target.admin.list("Pod", self.target.namespace, names.OF_HOSTS)):
            uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
            process = self.processes.get(uid)
            if "deletionTimestamp" in pod["metadata"]:
                self._end(name, process)
            elif not pod["spec"].get("nodeName"):
                self.target.bind(name, pod["metadata"]["annotations"][names.NODE])
            elif process is None or process.poll() is not None:
                self.restarts[uid] += process is not None
                self.processes[uid] = self._run(pod)
                self._say(name, uid)

    def _run(self, pod: dict[str, Any]) -> subprocess.Popen[bytes]:
        meta, spec = pod["metadata"], self.folder / f"{pod['metadata']['name']}.json"
        about = json.loads(meta["annotations"][names.SPEC])
        spec.write_text(json.dumps({**about, "port": free_port(), "cores": 1}))
        account = path_of("ServiceAccount", self.target.namespace, pod["spec"]["serviceAccountName"], "token")
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        token = self.folder / f"{meta['name']}.token"
        token.write_text(self.target.admin.call("POST", account, request)["status"]["token"])
        server = self.target.server
        settings = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(server.port),
            "AUTHORITY": str(server.authority),
            "TOKEN": str(token),
            "POD_UID": meta["uid"],
            "POD_IP": "127.0.0.1",
        }
        with (self.folder / f"{meta['name']}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(spec)],
                env={**os.environ, **settings}, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _say(self, pod: str, uid: str) -> None:
        at = timestamp(time.time())
        container = {
            "name": "driver", "ready": True, "restartCount": self.restarts[uid], "image": "i", "imageID": "i",
            "state": {"running": {"startedAt": at}},
        }  # fmt: skip
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": at}
        status = {"phase": "Running", "conditions": [ready], "containerStatuses": [container]}
        self.target.admin.merge("Pod", self.target.namespace, pod, {"status": status}, "status")

    def _end(self, pod: str, process: subprocess.Popen[bytes] | None) -> None:
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
        else:
            self.target.end(pod)

    def kill(self) -> None:
        """Each of them, as the kernel does when there is no memory."""
        for process in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


QUERIES = {"low": "SELECT s.k FROM s WHERE s.k < 50", "high": "SELECT s.k FROM s WHERE s.k >= 50"}


class SharedScene:
    """A stream, two queries that filter it, three nodes that have the same files."""

    def __init__(self, target: OnServer, folder: Path) -> None:
        self.target, self.files = target, folder / "files"
        self.hosts = HostProcesses(target, folder)
        Kubelet(target, ("n1", "n2", "n3"))
        self.write(
            "PlacementPolicy",
            "default",
            {**QUICK, "fragments": {"isolation": "Shared"}},
        )
        self.write("Stream", "s", {
            "schema": "k BIGINT, v BIGINT, ts TIMESTAMP",
            "eventTime": {"column": "ts", "watermark": "1s"},
            "source": {"files": {"uri": "s", "format": "parquet"}},
            "origin": {"node": "n1"},
            "rate": 10,
        })  # fmt: skip
        for name, sql in QUERIES.items():
            sink = {"files": {"uri": f"{name}-out", "format": "parquet"}}
            self.write("StreamQuery", name, {"sql": sql, "sink": sink})
        settings = OperatorSettings(
            watch_namespaces=(target.namespace,), namespace=target.namespace, hosts=True
        )
        self.cluster = KubernetesCluster(target.api, settings)
        layout = Layout(str(folder / "data"), "kubernetes:{namespace}/{fragment}", str(folder / "state.json"))
        site = Site(files=str(self.files))
        builder = DesiredStateBuilder(self.cluster.matrices.readers, executors=True, site=site)
        self.loop = Loop(self.cluster, NoMetrics(), _NothingToSweep(), builder, Settings(layout), time.time)
        self.written = 0

    def write(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        namespace = "" if kind == "PlacementPolicy" else self.target.namespace
        self.target.admin.apply(manifest(kind, namespace, name, spec=spec), "user")

    def feed(self, batches: int = 5) -> None:
        """More rows in the source, each with a number of its own."""
        for _ in range(batches):
            rows = [(n % 100, n, 1000 * n) for n in range(20 * self.written, 20 * self.written + 20)]
            append_batch(self.files / self.target.namespace / "s", self.written, rows)
            self.written += 1

    def complete(self) -> bool:
        """Whether every row is there; fails when one is there twice."""
        return {self._complete(name) for name in QUERIES} == {True}

    def _complete(self, name: str) -> bool:
        keys = [row[0] for row in sink_rows(self.files / self.target.namespace / f"{name}-out")]
        wanted = Counter(n % 100 for n in range(20 * self.written) if (n % 100 < 50) == (name == "low"))
        assert not Counter(keys) - wanted, "a row is there twice"
        return Counter(keys) == wanted

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 240.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{what}: {self.words()}"
            self.loop.once()
            self.hosts.step()
            time.sleep(0.2)

    def words(self) -> str:
        """Statuses, and the ends of the logs."""
        queries = [q.get("status") for q in self.target.admin.list("StreamQuery", self.target.namespace)]
        logs = [path.read_text()[-3000:] for path in self.hosts.folder.glob("*.log")]
        return f"{queries}\n{self.cluster.processes}\n" + "\n".join(logs)


class _NothingToSweep:
    def sweep(self, keep: frozenset[str]) -> None:
        pass


@pytest.fixture
def shared(target: OnServer, tmp_path: Path) -> Iterator[SharedScene]:
    scene = SharedScene(target, tmp_path)
    yield scene
    scene.hosts.kill()


def test_fragments_in_hosts_lose_and_double_nothing_through_a_kill_and_a_drain(shared: SharedScene) -> None:
    shared.feed()
    shared.until(shared.complete, "the first rows")
    assert len(shared.hosts.processes) < len(fragments(shared)), "some share a process"
    shared.hosts.kill()
    shared.feed()
    shared.until(shared.complete, "after a kill")
    assert set(shared.hosts.restarts.values()) == {1}
    shared.target.admin.merge("Node", "", "n1", {"spec": {"unschedulable": True}})
    shared.feed()
    shared.until(lambda: shared.complete() and runs_without(shared, "n1"), "after a drain")
    shared.feed()
    shared.until(shared.complete, "on another node")


def fragments(shared: SharedScene) -> set[str]:
    return {process.fragment for process in shared.cluster.processes}


def runs_without(shared: SharedScene, node: str) -> bool:
    """Whether all that is to run runs, and elsewhere."""
    wanted = [process for process in shared.cluster.processes if not process.terminating]
    return bool(wanted) and all(p.state == "running" and p.node != node for p in wanted)
