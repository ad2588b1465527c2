"""Snapshots on a cluster: their pods, as the controller sees and orders them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weir_operator.api.base import API_VERSION
from weir_operator.controller.decision import NewSnapshot, RestoreState, SnapshotOrder
from weir_operator.controller.observed_state import Manifest, SnapshotJob
from weir_operator.controller.ports import Refused
from weir_operator.controller.raw_fields import part
from weir_operator.controller.record import name_of
from weir_operator.controller.times import seconds
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.driver_pod import DriverTemplate
from weir_operator.kube.owner_references import OwnerReference, metadata
from weir_operator.kube.ownership import fragments_of
from weir_operator.kube.process import CANNOT_RUN
from weir_operator.kube.settings import OperatorSettings
from weir_operator.kube.snapshot_pod import (
    JOB,
    SnapshotMount,
    build_rights,
    build_snapshot_pod_spec,
    job_of,
)
from weir_operator.kube.template import template_of

KIND, ROLE, RESTORE_ROLE = "QuerySnapshot", "snapshot", "restore"
PODS = f"{names.MANAGED},{names.ROLE} in ({ROLE},{RESTORE_ROLE})"
VERB, GENERATION, FRAGMENTS = (f"{names.GROUP}/{name}" for name in ("verb", "generation", "fragments"))
"""Annotations of a pod."""
AGAIN_SECONDS = 60.0
"""A pod that was evicted, or ended by a fault that may pass, is made again so long after it was made."""
log = logging.getLogger("weir")


class SnapshotPods:
    """Pods of QuerySnapshots, named `snapshot.<name>`, and of queries that begin from one,
    `restore.<query>`; as last observed."""

    def __init__(self, api: Api, settings: OperatorSettings, clock: Callable[[], float]) -> None:
        self._api = api
        self._settings = settings
        self._clock = clock
        self._objects: dict[str, Manifest] = {}  # QuerySnapshots
        self._policies: dict[str, Manifest] = {}
        self._policy_of: dict[str, str] = {}  # by query
        self._pods: dict[tuple[str, str], Manifest] = {}
        self.jobs: dict[str, SnapshotJob] = {}
        self.contents: dict[str, Mapping[str, Any]] = {}
        self.restored: frozenset[str] = frozenset()

    def observe(self, objects: Iterable[Manifest], pods: Iterable[Manifest], leased: Iterable[str]) -> None:
        """Once a round: all objects, the pods of `PODS`, and the fragments that have a lease. Pods that have
        done what they were made for are deleted."""
        objects = list(objects)
        self._objects = {name_of(o): o for o in objects if o["kind"] == KIND}
        self._policies = {o["metadata"]["name"]: o for o in objects if o["kind"] == "PlacementPolicy"}
        queries = (o for o in objects if o["kind"] == "StreamQuery")
        self._policy_of = {name_of(o): str(part(o, "spec").get("policy") or "default") for o in queries}
        placements = {o["metadata"].get("uid"): o for o in objects if o["kind"] == "Placement"}
        self._pods = {(p["metadata"]["namespace"], p["metadata"]["name"]): p for p in pods}
        self.jobs = {}
        self.contents = {
            name: about
            for name, o in self._objects.items()
            if (about := part(part(part(o, "status"), "content"), "about")) and _is_ready(o)
        }
        restored: set[str] = set()
        leased = set(leased)
        for pod in self._pods.values():
            try:
                restored |= self._look(pod, placements, leased)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                log.warning("pod %s is not as Weir makes them: %r", name_of(pod), error)
        self.restored = frozenset(restored)

    def _look(self, pod: Manifest, placements: Mapping[Any, Manifest], leased: set[str]) -> set[str]:
        """What one pod says; of one that has restored a query, the fragments."""
        meta = pod["metadata"]
        (owner,) = meta["ownerReferences"]
        if meta["labels"][names.ROLE] == ROLE:
            self._look_at_job(pod, owner)
            return set()
        placement = placements.get(owner["uid"])
        if placement is None or _phase(pod) != "Succeeded":
            return set()
        mine = set(meta["annotations"][FRAGMENTS].split(",")) & set(fragments_of(placement))
        if {names.object_name(fragment) for fragment in mine} <= leased:
            self._delete(pod)
        return mine

    def _look_at_job(self, pod: Manifest, owner: Mapping[str, Any]) -> None:
        meta = pod["metadata"]
        name = f"{meta['namespace']}/{owner['name']}"
        manifest = self._objects.get(name)
        if manifest is None or (manifest["metadata"]["uid"], pod_of(name)) != (owner["uid"], meta["name"]):
            return
        notes, phase = meta["annotations"], _phase(pod)
        state: Any = {"Succeeded": "succeeded", "Failed": "failed"}.get(phase, "running")
        message = _message(pod)
        if state == "failed" and _exit_code(pod) != CANNOT_RUN:
            state, message = "running", f"{message or 'its pod failed'}; it is tried again"
        self.jobs[name] = SnapshotJob(owner["uid"], notes[VERB], int(notes[GENERATION]), state, message)
        if phase == "Succeeded" and notes[VERB] != "remove" and part(part(manifest, "status"), "content"):
            self._delete(pod)

    def _template(self, query: str) -> DriverTemplate:
        """Of the pods of a query; of one that is not there, or whose policy is not, the installation's."""
        return template_of(self._policies.get(self._policy_of.get(query, "")), self._settings)

    def order(self, order: SnapshotOrder | NewSnapshot) -> None:
        """Carries out an order. Raises OSError, Refused."""
        namespace, name = order.snapshot.split("/", 1)
        if isinstance(order, NewSnapshot):
            labels = {names.MANAGED_BY: names.FIELD_MANAGER}
            meta = metadata(name, namespace, labels, None, dict(order.annotations))
            self._api.create({"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": order.spec})
            return
        if order.verb == "forget":
            self._api.delete(KIND, namespace, name, order.uid)
            return
        spec = part(self._objects[order.snapshot], "spec")
        pod_name = pod_of(order.snapshot)
        if not self._may_make(namespace, pod_name, order):
            return
        owner = OwnerReference(name, order.uid, kind=KIND, operator_class=self._settings.operator_class)
        place = SnapshotMount.of(spec)
        job = job_of(
            order.verb,
            order.lies,
            place,
            uid=order.uid,
            report=order.snapshot,
            specs=tuple(fragment.to_json() for fragment in order.specs),
            about=dict(order.about),
        )
        for right in build_rights(pod_name, namespace, name, owner):
            self._api.apply(right)
        notes = {JOB: job, VERB: order.verb, GENERATION: str(order.generation)}
        about = (pod_name, namespace, ROLE, owner, notes, place)
        template = self._template(f"{namespace}/{spec.get('query')}")
        self._api.create(build_snapshot_pod_spec(*about, template, True))

    def _may_make(self, namespace: str, pod_name: str, order: SnapshotOrder) -> bool:
        """Whether there is no pod; one of an earlier order, and one that is to be made again, are deleted."""
        pod = self._pods.get((namespace, pod_name))
        if pod is None:
            return True
        notes = part(part(pod, "metadata"), "annotations")
        same = (notes.get(VERB), notes.get(GENERATION)) == (order.verb, str(order.generation))
        if not same or (_phase(pod) in ("Failed", "Succeeded") and self._age(pod) > AGAIN_SECONDS):
            self._delete(pod)
        return False

    def restore(self, action: RestoreState, owner: OwnerReference) -> None:
        """Has a query's fragments laid down by one pod, for which each of them asks. Raises Refused: what the
        pod says that it cannot do; it is made again all the same, as a person may have mended it."""
        namespace, query = action.query.split("/", 1)
        pod_name = f"{RESTORE_ROLE}.{query}"
        pod = self._pods.get((namespace, pod_name))
        if pod is not None:
            self._judge(pod, owner)
            return
        manifest = self._objects.get(action.snapshot)
        if manifest is None:
            raise Refused(f"QuerySnapshot {action.snapshot} is gone")
        spec, (own_namespace, own_name) = part(manifest, "spec"), action.snapshot.split("/", 1)
        existing = part(spec, "existing")
        lies = f"{existing.get('namespace', own_namespace)}/{existing.get('name', own_name)}"
        place = SnapshotMount.of(spec)
        job = job_of("restore", lies, place, specs=tuple(fragment.to_json() for fragment in action.specs))
        fragments = ",".join(sorted(fragment.name for fragment in action.specs))
        about = (pod_name, namespace, RESTORE_ROLE, owner, {JOB: job, FRAGMENTS: fragments}, place)
        self._api.create(build_snapshot_pod_spec(*about, self._template(action.query), False))

    def _judge(self, pod: Manifest, owner: OwnerReference) -> None:
        meta = pod["metadata"]
        mine = any(reference.get("uid") == owner.uid for reference in meta.get("ownerReferences") or ())
        if not mine and "deletionTimestamp" not in meta:
            self._delete(pod)  # of a query of this name that is gone
        elif _phase(pod) == "Failed":
            if self._age(pod) > AGAIN_SECONDS:
                self._delete(pod)
            if _exit_code(pod) == CANNOT_RUN:
                raise Refused(_message(pod) or "its state cannot be restored")
            raise ApiError(409, f"pod {meta['name']} failed, and is made again: {_message(pod)}")

    def _age(self, pod: Manifest) -> float:
        return self._clock() - seconds(pod["metadata"].get("creationTimestamp"))

    def _delete(self, pod: Manifest) -> None:
        meta = pod["metadata"]
        if "deletionTimestamp" not in meta:
            self._api.delete("Pod", meta["namespace"], meta["name"], meta["uid"])


def pod_of(snapshot: str) -> str:
    """The name of a QuerySnapshot's (namespace/name) pod and of its rights; no fragment's has a dot.

    >>> pod_of("flights/nightly")
    'snapshot.nightly'
    """
    return f"{ROLE}.{snapshot.split('/', 1)[1]}"


def _is_ready(manifest: Manifest) -> bool:
    """As its status says: one that is being removed is not."""
    conditions = part(manifest, "status").get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _phase(pod: Manifest) -> str:
    return str(part(pod, "status").get("phase", ""))


def _terminated(pod: Manifest) -> Mapping[str, Any]:
    statuses = part(pod, "status").get("containerStatuses") or ()
    return next((ended for s in statuses if (ended := part(part(s, "state"), "terminated"))), {})


def _exit_code(pod: Manifest) -> int | None:
    code = _terminated(pod).get("exitCode")
    return code if isinstance(code, int) else None


def _message(pod: Manifest) -> str:
    """Why it failed, or waits, in its own words."""
    status = part(pod, "status")
    if text := str(_terminated(pod).get("message") or "").strip():
        return text if _exit_code(pod) == CANNOT_RUN else text.splitlines()[-1]
    waiting = (part(part(s, "state"), "waiting") for s in status.get("containerStatuses") or ())
    for waits in waiting:
        if waits.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return ": ".join(filter(None, (waits.get("reason"), waits.get("message"))))
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("message", ""))
    return str(status.get("message") or "")
