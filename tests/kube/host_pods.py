"""Hosts' Pods as a test plays them: each does in one step what it is told, and says so."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from weir_operator.controller.times import micro_time, timestamp
from weir_operator.kube import names
from weir_placement.model.hosted import HostedHolder

from tests.kube.memory import Manifest, Memory

OVER = ("finished", "released", "fenced")


@dataclass
class HostPods:
    """Of all nodes but the `dead` ones."""

    memory: Memory
    dead: set[str] = field(default_factory=set)
    incarnations: dict[str, int] = field(default_factory=dict)  # by uid of the pod
    alone: dict[str, str] = field(default_factory=dict)  # why one should be, by key
    phases: dict[str, dict[str, str]] = field(default_factory=dict)  # by uid of the pod, by key

    def step(self, now: float) -> None:
        for (kind, _, _), pod in list(self.memory.objects.items()):
            labels = pod["metadata"].get("labels") or {}
            ours = kind == "Pod" and labels.get(names.ROLE) == "host"
            if ours and pod["metadata"]["annotations"][names.NODE] not in self.dead:
                self._step(pod, now)

    def _step(self, pod: Manifest, now: float) -> None:
        meta, namespace = pod["metadata"], pod["metadata"]["namespace"]
        if "deletionTimestamp" in meta:
            for key in self.phases.pop(meta["uid"], {}):
                self._release(namespace, meta["name"], key)
            del self.memory.objects["Pod", namespace, meta["name"]]
            return
        if not pod["spec"].get("nodeName"):
            self._begin(pod, now)
            return
        self._renew(pod, now)
        orders = self.memory.objects["ConfigMap", namespace, meta["name"]].get("data") or {}
        wanted = {k: o["spec"] for k, text in orders.items() if not (o := json.loads(text)).get("stopping")}
        phases = self.phases[meta["uid"]]
        for key in phases.keys() - wanted.keys():
            self._release(namespace, meta["name"], key)
            del phases[key]
        for key, spec in wanted.items():
            phases[key] = self._advance(pod, key, spec, phases.get(key, ""), now)
        fragments = {
            key: {
                "phase": phase,
                "restarts": 0,
                "error": "",
                "alone": self.alone.get(key, ""),
                "since": now,
            }
            for key, phase in phases.items()
        }
        state = self.memory.objects["ConfigMap", namespace, f"{meta['name']}-state"]
        text = json.dumps({"pod": meta["uid"], "fragments": fragments})
        self.memory.put({**state, "data": {"state": text}})

    def _begin(self, pod: Manifest, now: float) -> None:
        meta = pod["metadata"]
        at = timestamp(now)
        container = {
            "name": "driver",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": at}},
        }
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": at}
        status = {
            "phase": "Running",
            "podIP": "10.0.0.7",
            "conditions": [ready],
            "containerStatuses": [container],
        }
        node = meta["annotations"][names.NODE]
        self.memory.put({**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status})
        lease = self.memory.objects["Lease", meta["namespace"], meta["name"]]
        self.incarnations[meta["uid"]] = int((lease.get("spec") or {}).get("leaseTransitions", 0)) + 1
        self.phases[meta["uid"]] = {}

    def _renew(self, pod: Manifest, now: float) -> None:
        meta = pod["metadata"]
        lease = self.memory.objects["Lease", meta["namespace"], meta["name"]]
        spec = _spec(f"{pod['spec']['hostname']}:1:1", self.incarnations[meta["uid"]], now)
        self.memory.put({**lease, "spec": spec})

    def _holder(self, pod: Manifest, key: str) -> str:
        meta = pod["metadata"]
        location = f"kubernetes:{meta['namespace']}/{meta['name']}"
        return str(HostedHolder(location, self.incarnations[meta["uid"]], sum(map(ord, key))))

    def _advance(self, pod: Manifest, key: str, spec: dict[str, Any], phase: str, now: float) -> str:
        """The phase after one more step."""
        namespace = pod["metadata"]["namespace"]
        lease = self.memory.objects["Lease", namespace, names.object_name(spec["name"])]
        spec_of_lease, notes = lease.get("spec") or {}, lease["metadata"].get("annotations") or {}
        handover = names.epoch_number(notes.get(names.HANDOVER, ""))
        epoch, mine = spec["epoch"], spec_of_lease.get("holderIdentity") == self._holder(pod, key)
        if phase in OVER:
            return phase
        if mine and handover not in (None, epoch):
            self._release(namespace, pod["metadata"]["name"], key)
            return "released"
        if mine:
            return "running"
        free = (
            notes.get(names.RELEASED) == "true"
            or not spec_of_lease
            or self._is_over(namespace, spec_of_lease)
        )
        invited = (
            handover == epoch
            if handover is not None
            else spec_of_lease.get("leaseTransitions", epoch) == epoch
        )
        if free and invited:
            left = {k: v for k, v in notes.items() if k not in (names.HANDOVER, names.RELEASED)}
            meta = {**lease["metadata"], "annotations": left}
            self.memory.put({**lease, "metadata": meta, "spec": _spec(self._holder(pod, key), epoch, now)})
            return "running"
        return "standby-ready" if spec["standby"] else "starting"

    def _is_over(self, namespace: str, spec_of_lease: dict[str, Any]) -> bool:
        """Whether whoever holds a lease was in a host that is another one by now."""
        holder = HostedHolder.parse(spec_of_lease["holderIdentity"])
        if holder is None:
            return False
        lease = self.memory.objects.get(("Lease", namespace, holder.lease.rpartition("/")[2]), {})
        return bool(lease.get("spec", {}).get("leaseTransitions") != holder.incarnation) or bool(
            {pod["metadata"]["annotations"][names.NODE] for pod in self._pods(holder)} <= self.dead
        )

    def _pods(self, holder: HostedHolder) -> list[Manifest]:
        name = holder.lease.rpartition("/")[2]
        return [m for (kind, _, own), m in self.memory.objects.items() if (kind, own) == ("Pod", name)]

    def _release(self, namespace: str, host: str, key: str) -> None:
        fragment = key.rsplit("-e", 1)[0]
        lease = self.memory.objects.get(("Lease", namespace, fragment))
        holder = HostedHolder.parse((lease or {}).get("spec", {}).get("holderIdentity", ""))
        epoch = int(key.rsplit("-e", 1)[1])
        mine = holder is not None and holder.lease.endswith(f"/{host}")
        if lease and mine and lease["spec"]["leaseTransitions"] == epoch:
            notes = {**(lease["metadata"].get("annotations") or {}), names.RELEASED: "true"}
            self.memory.put({**lease, "metadata": {**lease["metadata"], "annotations": notes}})


def _spec(holder: str, epoch: int, now: float) -> dict[str, Any]:
    return {
        "holderIdentity": holder,
        "leaseTransitions": epoch,
        "renewTime": micro_time(now),
        "leaseDurationSeconds": 10,
    }
