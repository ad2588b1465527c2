"""A driver with executors: what Spark is told, which pods of earlier lives are ended, what they used."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from weir_placement.model.fragment import FragmentError, FragmentSpec, Input, Output
from weir_placement.model.location import Location
from weir_runtime import cpu
from weir_runtime.api_server import Server
from weir_runtime.executors import Executors, ExecutorTemplate, spark_settings
from weir_runtime.session import SETTINGS

LABELS = {"weir.dev/fragment": "q-f1", "weir.dev/role": "executor"}


def spec_with(executors: int, checkpoint: str = "/c") -> FragmentSpec:
    return FragmentSpec(
        "q-f1", "ns", "q", "n1", 2, (Input("d", "exchange", flow=Location("folder", "/x")),), (),
        Output("noop"), checkpoint, "l", "s", executors=executors,
    )  # fmt: skip


@pytest.fixture
def template(tmp_path: Path) -> ExecutorTemplate:
    container = {
        "name": "executor",
        "image": "weir-runtime:dev",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "250m", "memory": str(1212 * 2**20)}},
    }
    pod = {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}
    file = tmp_path / "executor.json"
    file.write_text(json.dumps(pod))
    return ExecutorTemplate.of_environment({"WEIR_EXECUTOR_TEMPLATE": str(file)})


def test_outside_of_a_cluster_executors_are_refused() -> None:
    with pytest.raises(FragmentError, match=r"fragment\.executors"):
        ExecutorTemplate.of_environment({})


def test_spark_requests_what_the_template_says(template: ExecutorTemplate) -> None:
    environment = {
        "POD_IP": "10.0.0.7", "POD_NAME": "q-f1-e2", "POD_NAMESPACE": "ns",
        "KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443",
    }  # fmt: skip
    settings = spark_settings(spec_with(3), template, environment)
    assert settings["spark.master"] == "k8s://https://10.96.0.1:443"
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "10.0.0.7"
    assert settings["spark.kubernetes.executor.request.cores"] == "250m"
    heap, beside = (settings[f"spark.executor.{n}"].removesuffix("m") for n in ("memory", "memoryOverhead"))
    assert int(heap) + int(beside) == 1212
    assert settings["spark.executor.instances"] == "3"
    session = SETTINGS | settings  # as `start_session` joins them
    assert session["spark.authenticate"] == "true"
    assert session["spark.ui.enabled"] == session["spark.ui.killEnabled"] == "false"


def test_partitions_of_state_follow_the_executors_and_a_spec_without_is_as_before() -> None:
    assert [spec_with(n).partitions for n in (0, 1, 3)] == [1, 1, 3]
    assert "executors" not in json.loads(spec_with(0).to_json())
    assert FragmentSpec.from_json(spec_with(2).to_json()).executors == 2


class PodServer:
    """Pods of a namespace over HTTP; one that is told to go is there for one more look."""

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.going: list[str] = []
        self.stuck: set[str] = set()
        self.paths: list[str] = []

    def add(self, name: str, owner: str) -> None:
        meta = {"name": name, "labels": LABELS, "ownerReferences": [{"uid": owner}]}
        self.pods[name] = {"metadata": meta, "status": {}}

    def items(self) -> list[dict[str, Any]]:
        result = list(self.pods.values())
        for name in [n for n in self.going if n not in self.stuck]:
            self.pods.pop(name, None)
        return result


@pytest.fixture
def cluster() -> Iterator[tuple[PodServer, Executors]]:
    state = PodServer()

    class PodHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.paths.append(self.path)
            self._answer({"items": state.items()})

        def do_DELETE(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            state.going.append(self.path.rsplit("/", 1)[-1])
            self._answer({})

        def _answer(self, body: dict[str, Any]) -> None:
            text = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), PodHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = Server("127.0.0.1", server.server_address[1], lambda: "token", None)
    yield state, Executors(address, "ns", "weir.dev/fragment=q-f1,weir.dev/role=executor", "own")
    server.shutdown()
    server.server_close()


def test_executors_of_this_pod_are_gone_when_it_starts_and_others_still_work(
    cluster: tuple[PodServer, Executors],
) -> None:
    state, executors = cluster
    state.add("q-f1-e2-exec-1", "own")
    state.add("q-f1-e1-exec-1", "predecessor")
    executors.end_own(wait=True)
    assert list(state.pods) == ["q-f1-e1-exec-1"]
    assert "labelSelector=weir.dev/fragment%3Dq-f1%2Cweir.dev/role%3Dexecutor" in state.paths[0]
    executors.end_others(wait=True)
    assert not state.pods


def test_own_executors_that_stay_fail_the_start_and_others_are_passed_by(
    cluster: tuple[PodServer, Executors], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weir_runtime.executors._GONE", 0.0)
    state, executors = cluster
    state.add("mine", "own")
    state.add("frozen", "predecessor")
    state.stuck = {"mine", "frozen"}
    executors.end_others(wait=True)
    with pytest.raises(OSError, match="mine"):
        executors.end_own(wait=True)


def test_what_executors_used_is_summed_and_stays_after_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cpu.executor_folder(spec_with(1, str(tmp_path)))
    assert folder is not None
    assert cpu.executor_folder(spec_with(0)) is None
    assert cpu.reported(folder) == 0.0
    monkeypatch.setattr(os, "getppid", os.getpid)  # as if a worker had asked: above us there may be nobody
    cpu.report(folder)
    (own,) = folder.iterdir()
    used = cpu.reported(folder)
    assert used > 0.0
    (folder / "gone-1").write_text("2.5")
    assert cpu.reported(folder) == pytest.approx(used + 2.5)
    cpu.report(folder)  # too early for another
    assert cpu.reported(folder) == pytest.approx(used + 2.5)
    monkeypatch.setattr(cpu, "PERIOD", 0.0)
    os.utime(own, (0, 0))
    cpu.report(folder)
    assert cpu.reported(folder) >= used + 2.5
