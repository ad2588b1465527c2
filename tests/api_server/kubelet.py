"""Scheduler, kubelets and drivers as a test plays them: pods go through their phases one step at a time, and
each driver keeps its fragment's Lease by the runtime's own code."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from weir_operator.controller.times import timestamp
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError
from weir_placement.model.change import Change
from weir_runtime.api_server import KeptConnections, Server
from weir_runtime.kubernetes_lease import KubernetesLease

from tests.api_server.api_under_test import ApiUnderTest, manifest

DURATION = 60.0  # [s] of a lease


class ThroughApi:
    """The requests of a driver's lease, by the operator's client."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def send(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        *_, namespace, _, name = path.split("/")
        try:
            lease = self._api.replace(json.loads(body)) if body else self._api.get("Lease", namespace, name)
        except ApiError as error:
            return error.status, json.dumps({"message": str(error)}).encode()
        return (200, json.dumps(lease).encode()) if lease else (404, b"{}")


class DriversLease(KubernetesLease):
    """Without a watch: each look asks."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        super().__init__(cast(Server, None), namespace, name)
        self._requests = cast(KeptConnections, ThroughApi(api))

    def _start_watch(self) -> None:
        """Nothing."""


class Kubelet:
    """Of all nodes but the `dead` ones."""

    def __init__(self, target: ApiUnderTest, nodes: Iterable[str]) -> None:
        self.target = target
        self.dead: set[str] = set()
        self.writers: dict[str, list[int]] = {}  # epochs that have held each lease, in order
        for name in nodes:
            target.admin.create(manifest("Node", "", name, spec={}))
            self.say(name, ready=True)

    def say(self, node: str, ready: bool, since: float | None = None) -> None:
        """What its kubelet and the controller of nodes say of it. The API server itself taints a new one."""
        at = timestamp(time.time() - 1000.0 if since is None else since)
        condition = {"type": "Ready", "status": "True" if ready else "Unknown", "lastTransitionTime": at}
        status = {
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "100"},
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "100"},
            "conditions": [condition],
        }
        self.target.admin.merge("Node", "", node, {"status": status}, "status")
        taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
        self.target.admin.merge("Node", "", node, {"spec": {"taints": None if ready else [taint]}})

    def die(self, node: str) -> None:
        """It does not answer, and has not for long."""
        self.dead.add(node)
        self.say(node, ready=False, since=time.time() - 3600.0)

    def step(self) -> None:
        """One step of each driver's pod."""
        for pod in list(self.target.admin.list("Pod", self.target.namespace, names.DRIVERS)):
            if pod["spec"].get("nodeName") not in self.dead:
                self._step(pod)

    def _step(self, pod: dict[str, Any]) -> None:
        name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
        epoch, holder = int(labels[names.EPOCH]), f"{name}:1:1"
        lease = DriversLease(self.target.admin, self.target.namespace, labels[names.FRAGMENT])
        record = lease.read()
        mine = record is not None and record.epoch == epoch and record.holder == holder
        phase = pod["status"].get("phase")
        if "deletionTimestamp" in pod["metadata"]:
            if mine:
                lease.release(epoch, holder)
            self.target.end(name)
        elif not pod["spec"].get("nodeName"):
            self._bind(pod)
        elif phase == "Pending":
            self._say(name, {"running": {"startedAt": timestamp(time.time())}}, ready=False)
        elif mine and record is not None and record.handover is not None and record.handover > epoch:
            lease.release(epoch, holder)
            process = {"exitCode": 0, "finishedAt": timestamp(time.time())}
            self._say(name, {"terminated": process}, ready=False, phase="Succeeded")
        elif phase == "Running":
            if mine and record is not None:
                lease.renew(epoch, holder)
                self._answer(lease, epoch, holder, record.change)
            elif lease.acquire(epoch, holder, DURATION):
                self.writers.setdefault(labels[names.FRAGMENT], []).append(epoch)
            self._say(name, {"running": {"startedAt": timestamp(time.time())}}, ready=True)

    def _answer(self, lease: KubernetesLease, epoch: int, holder: str, change: Change | None) -> None:
        """The cut is set in the past, and so passed at the next step."""
        if change is not None and change.time is None:
            lease.answer(epoch, holder, replace(change, time=round((time.time() - 1.0) * 1e6)))
        elif change is not None and not change.passed:
            lease.answer(epoch, holder, replace(change, passed=True))

    def _bind(self, pod: Mapping[str, Any]) -> None:
        node = pod["metadata"]["annotations"][names.NODE]
        if node not in self.dead and self.target.admin.list("Node", fields=f"metadata.name={node}"):
            self.target.bind(pod["metadata"]["name"], node)

    def _say(self, pod: str, state: Mapping[str, Any], ready: bool, phase: str = "Running") -> None:
        at = timestamp(time.time())
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": at}
        container = {
            "name": "driver", "ready": ready, "restartCount": 0, "image": "i", "imageID": "i", "state": state
        }  # fmt: skip
        status = {"phase": phase, "conditions": [condition], "containerStatuses": [container]}
        self.target.admin.merge("Pod", self.target.namespace, pod, {"status": status}, "status")
