"""A fragment's executor pods: Spark's settings for them, and the end of those of earlier lives.

Spark makes the pods itself, from a template that the operator has written into an annotation of the
driver's pod: same node, image, claim and security as the driver, no token. An executor that outlives its
driver could still write state that the next life already reads; so nothing of an earlier life is left
when a batch is run.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentError, FragmentSpec

from weir_runtime.api_server import KeptConnections, Server
from weir_runtime.cpu import executor_folder
from weir_runtime.session import QUICK, TUNING, kill_jvm, start_session

TEMPLATE = "WEIR_EXECUTOR_TEMPLATE"
"""Environment variable: the template's file."""

DRIVER_PORT = 7078
BLOCK_PORT = 7079
FRAGMENT = "weir.dev/fragment"

ARRIVE = 300
"""[s] within which executors must have come up."""
_GONE = 30.0
"""[s] that is waited for the end of executors; one on a node that does not answer never says it has ended."""
_GRACE = 1
"""[s] between an executor's SIGTERM and its SIGKILL: it has nothing to finish."""
_LOOK = 0.5
_TIMEOUT = 10.0
_MIB = 2**20


@dataclass(frozen=True)
class ExecutorTemplate:
    """The template of an executor's pod, as the operator wrote it."""

    path: str
    pod: Mapping[str, Any]

    @staticmethod
    def of_environment(environment: Mapping[str, str] = os.environ) -> ExecutorTemplate:
        """Raises FragmentError where there is none: outside of a cluster."""
        path = environment.get(TEMPLATE)
        if not path:
            raise FragmentError(
                f"fragment.executors: executors are pods, but {TEMPLATE} does not name a pod template; "
                "run it in a cluster, or with 0 executors"
            )
        return ExecutorTemplate(path, json.loads(Path(path).read_text()))

    @property
    def container(self) -> Mapping[str, Any]:
        """The executor's only container."""
        container: Mapping[str, Any] = self.pod["spec"]["containers"][0]
        return container

    @property
    def selector(self) -> str:
        """Finds the executors of every life of the fragment."""
        return f"{FRAGMENT}={self.pod['metadata']['labels'][FRAGMENT]},weir.dev/role=executor"


def spark_settings(
    spec: FragmentSpec, template: ExecutorTemplate, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Settings of a driver in a pod whose executors are pods beside it."""
    container, address, pod = template.container, environment["POD_IP"], environment["POD_NAME"]
    requests = container["resources"]["requests"]
    options = [*TUNING, *((QUICK,) if spec.cores == 1 else ())]
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
    return {
        "spark.master": f"k8s://https://{f'[{host}]' if ':' in host else host}:{port}",
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.driver.port": str(DRIVER_PORT),
        "spark.blockManager.port": str(BLOCK_PORT),
        "spark.kubernetes.namespace": environment["POD_NAMESPACE"],
        "spark.kubernetes.driver.pod.name": pod,
        "spark.kubernetes.executor.podNamePrefix": pod,
        "spark.kubernetes.executor.podTemplateFile": template.path,
        "spark.kubernetes.executor.podTemplateContainerName": container["name"],
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.container.image": container["image"],
        "spark.kubernetes.container.image.pullPolicy": container["imagePullPolicy"],
        # Spark sets the requests itself, over what the template says.
        "spark.kubernetes.executor.request.cores": requests["cpu"],
        "spark.executor.cores": str(spec.cores),
        "spark.executor.memory": f"{spec.heap_mb}m",
        "spark.executor.memoryOverhead": f"{int(requests['memory']) // _MIB - spec.heap_mb}m",
        "spark.executor.instances": str(spec.executors),
        "spark.executor.extraJavaOptions": " ".join(options),
        # An executor that dies is replaced, for years; only many in a short time end the driver.
        "spark.executor.failuresValidityInterval": "10m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{ARRIVE}s",
    }


class Executors:
    """The executors of all lives of a fragment, at the API server."""

    def __init__(self, server: Server, namespace: str, selector: str, own: str) -> None:
        """`own` is the uid of the driver's pod, which owns the executors of its lives."""
        self._server = KeptConnections(server, _TIMEOUT)
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._selector = quote(selector)
        self._own = own

    @staticmethod
    def of_pod(template: ExecutorTemplate, environment: Mapping[str, str] = os.environ) -> Executors:
        """Those of the fragment whose driver's pod this is."""
        host, port = environment["KUBERNETES_SERVICE_HOST"], int(environment["KUBERNETES_SERVICE_PORT"])
        server = Server.of_pod(host, port)
        return Executors(server, environment["POD_NAMESPACE"], template.selector, environment["POD_UID"])

    def end_own(self, wait: bool) -> None:
        """Of this pod: at its start those of a life before, while Spark has made none yet; at its end all.
        Raises OSError when they do not go: the pod is then started once more."""
        if left := self._end(lambda owner: owner == self._own, wait):
            raise OSError(f"executors of an earlier run still exist: {', '.join(left)}")

    def end_others(self, wait: bool) -> None:
        """Of other epochs' pods. Call it only when the lease is held: a standby's predecessor still works.

        One on a node that does not answer is waited for half a minute. It can do little harm: a batch's
        offsets are durable before its tasks run, so what a late task writes is what ours write again, and
        nothing but the driver publishes.
        """
        self._end(lambda owner: owner != self._own, wait)

    def close(self) -> None:
        """Ends Spark without its own shutdown, then its executors, which it would replace. What stays
        because the API server does not answer goes with the driver's pod."""
        kill_jvm()
        with suppress(OSError):
            self.end_own(wait=False)

    def trouble(self) -> str:
        """Why executors of this pod do not run, as the cluster says it."""
        messages = []
        for pod in self._pods_of(lambda owner: owner == self._own):
            status = pod.get("status", {})
            messages += [c["message"] for c in status.get("conditions", ()) if c.get("message")]
            for container in status.get("containerStatuses", ()):
                messages += [state.get("message", "") for state in container["state"].values()]
        text = "; ".join(dict.fromkeys(filter(None, messages)))
        return text or "the API server refused them, or their images are still being pulled"

    def _end(self, is_owner: Callable[[str], bool], wait: bool) -> list[str]:
        """Names of executors that have not ended in time, of those that were waited for."""
        for name in self._names(is_owner):
            status, body = self._call("DELETE", f"/{name}", {"gracePeriodSeconds": _GRACE})
            if status not in (200, 202, 404):
                raise OSError(f"executor {name}: the API server answered {status}: {body.get('message')}")
        deadline = time.monotonic() + _GONE
        while wait and (left := self._names(is_owner)):
            if time.monotonic() > deadline:
                return left
            time.sleep(_LOOK)
        return []

    def _names(self, is_owner: Callable[[str], bool]) -> list[str]:
        return [pod["metadata"]["name"] for pod in self._pods_of(is_owner)]

    def _pods_of(self, is_owner: Callable[[str], bool]) -> list[Mapping[str, Any]]:
        status, body = self._call("GET", f"?labelSelector={self._selector}")
        if status != 200:
            raise OSError(f"executors: the API server answered {status}: {body.get('message')}")
        return [
            pod
            for pod in body["items"]
            if any(is_owner(owner["uid"]) for owner in pod["metadata"].get("ownerReferences", ()))
        ]

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        status, answer = self._server.send(method, self._path + path, json.dumps(body) if body else None)
        try:
            return status, json.loads(answer or b"{}")
        except ValueError as error:
            raise OSError(f"executors: {error!r}") from error


def open_session(spec: FragmentSpec) -> tuple[SparkSession, Executors | None]:
    """The process's session; with executors, when those of earlier lives are gone and its own have come.

    Raises FragmentError outside of a pod, OSError when the API server does not answer, RuntimeError when
    no executor comes.
    """
    name = f"{spec.name}-e{spec.epoch}"
    folder = executor_folder(spec)
    if folder is None:
        return start_session(spec.cores, spec.heap_mb, name), None
    template = ExecutorTemplate.of_environment()
    executors = Executors.of_pod(template)
    executors.end_own(wait=True)
    shutil.rmtree(folder, ignore_errors=True)
    settings = spark_settings(spec, template)
    try:
        spark = start_session(spec.cores, spec.heap_mb, name, spec.partitions, settings)
        registered = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is in it
    except Py4JError:  # Spark gives up when many have died
        registered = 0
    if not registered:
        trouble = executors.trouble()
        executors.close()
        raise RuntimeError(f"no executor started within {ARRIVE} s: {trouble}")
    return spark, executors
