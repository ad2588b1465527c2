"""A driver's Pod, read as a process of the controller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.controller.observed_state import Lease, Process, ProcessState
from weir_operator.controller.times import seconds
from weir_operator.kube import names
from weir_operator.kube.driver_pod import DRIVER
from weir_operator.kube.pod_warnings import CREATING

CANNOT_RUN = 2  # exit codes of the runtime: the spec is refused, and would be again;
FENCED = 75  # another process holds the lease
BACK_OFF = "CrashLoopBackOff"
OUT_OF_MEMORY = "OOMKilled"
FULL = ("Insufficient ", "Too many pods", "untolerated taint", "were unschedulable")
"""The scheduler's words for a node that has no room for a pod, or does not admit it."""


def read_process(
    pod: Mapping[str, Any],
    lease: Lease | None,
    node_lost_since: float | None,
    executors: Iterable[Mapping[str, Any]] = (),
    silent_since: float | None = None,
    warning: str = "",
) -> Process:
    """The process of a Pod.

    Args:
        lease: the fragment's.
        node_lost_since: since when the Pod's node does not answer.
        executors: Pods of its executors; if one finds no room on the node, nor does the fragment.
        silent_since: since when the lease is not renewed: a Pod that is ready, and yet does not renew it,
            cannot reach the API server.
        warning: what Events say of a Pod whose containers are not created.
    """
    meta, spec = pod["metadata"], pod["spec"]
    notes, epoch = meta.get("annotations") or {}, int(meta["labels"][names.EPOCH])
    status = pod.get("status") or {}
    terminating = "deletionTimestamp" in meta
    container = driver_container(status.get("containerStatuses") or ())
    own = lease is not None and lease.epoch == epoch
    writes = lease is not None and own and not lease.released
    state, since, message = pod_state(pod, container, writes)
    if state == "stopped" and lease is not None and own and lease.handover is None and not terminating:
        state = "finished"  # nothing made it stop
    message = warning or message
    no_room = state == "pending" and has_no_room(message)
    ready = 0
    for executor in executors:
        ready += _works(executor)
        waits, at, why = pod_state(executor, {}, False)
        if state == "starting" and waits == "pending" and has_no_room(why):
            no_room, since, message = True, at, f"executor {executor['metadata']['name']}: {why}"
    silent = False
    if state == "running" and silent_since is not None:
        state, since, no_room, silent = "starting", max(since, silent_since), True, True
        message = f"it does not renew its lease: can node {spec['nodeName']} reach the API server?"
    if node_lost_since is not None and spec.get("nodeName"):
        state, since, message = "lost", node_lost_since, f"node {spec['nodeName']} does not answer"
    return Process(
        fragment=notes.get(names.FRAGMENT, meta["labels"][names.FRAGMENT]),
        epoch=epoch,
        node=spec.get("nodeName", ""),
        planned_node=notes.get(names.NODE, ""),
        state=state,
        since=since,
        build=notes.get(names.BUILD, ""),
        image=str(driver_container(spec.get("containers") or ()).get("image", "")),
        restarts=int(container.get("restartCount", 0)),
        message=message,
        terminating=terminating,
        silent=silent and state != "lost",
        executors=ready,
        refused=state in ("starting", "failed") and _last_code(container) == CANNOT_RUN,
        no_room=no_room and state != "lost",
    )


def driver_container(containers: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The driver's own status, among those of what others put beside it into its Pod."""
    return next((c for c in containers if c.get("name", DRIVER) == DRIVER), {})


def executors_by_driver(pods: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Pods of executors by the uid of the driver's pod that owns them."""
    by_driver: dict[str, list[Mapping[str, Any]]] = {}
    for pod in pods:
        if pod["metadata"]["labels"][names.ROLE] == "executor":
            for owner in pod["metadata"].get("ownerReferences", ()):
                by_driver.setdefault(owner["uid"], []).append(pod)
    return by_driver


def _works(executor: Mapping[str, Any]) -> bool:
    running = (executor.get("status") or {}).get("phase") == "Running"
    return running and "deletionTimestamp" not in executor["metadata"]


def has_no_room(message: str) -> bool:
    """Whether the scheduler says so."""
    return any(words in message for words in FULL)


def pod_state(
    pod: Mapping[str, Any], container: Mapping[str, Any], writes: bool
) -> tuple[ProcessState, float, str]:
    """State, since when, and a message about it."""
    status = pod.get("status") or {}
    created = seconds(pod["metadata"].get("creationTimestamp"))
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    if status.get("phase") == "Failed":  # evicted by the node, or never admitted by it
        return "failed", created, status.get("message") or status.get("reason", "")
    if not pod["spec"].get("nodeName"):
        scheduled = conditions.get("PodScheduled", {})
        return "pending", created, scheduled.get("message", "")
    current = container.get("state") or {}
    if "running" in current:
        ready = conditions.get("Ready", {})
        if container.get("ready"):
            return ("running" if writes else "standby"), seconds(ready.get("lastTransitionTime")), ""
        return "starting", seconds(current["running"].get("startedAt")), _last_error(container)
    return _not_running(container, created)


def _last_end(container: Mapping[str, Any]) -> Mapping[str, Any] | None:
    ended = [(container.get(key) or {}).get("terminated") for key in ("state", "lastState")]
    return next(filter(None, ended), None)


def _last_code(container: Mapping[str, Any]) -> int | None:
    return (_last_end(container) or {}).get("exitCode")


def _not_running(container: Mapping[str, Any], created: float) -> tuple[ProcessState, float, str]:
    current = container.get("state") or {}
    last = _last_end(container)
    waiting = current.get("waiting") or {}
    message = ": ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))
    if last is None:
        return "starting", created, message
    since, code = seconds(last.get("finishedAt")), last.get("exitCode")
    if code in (0, FENCED):
        return "stopped", since, f"ended with exit code {code}"
    if waiting.get("reason") in (None, BACK_OFF, *CREATING):
        message = _last_error(container)  # which says more
    return ("failed" if code == CANNOT_RUN else "starting"), since, message


def _last_error(container: Mapping[str, Any]) -> str:
    """How the container's previous run ended, in one line: the last of its message is the error itself."""
    current = container.get("state") or {}
    last = current.get("terminated") or (container.get("lastState") or {}).get("terminated") or {}
    code, reason = last.get("exitCode"), last.get("reason", "")
    if not code:
        return ""
    if reason == OUT_OF_MEMORY:  # its message is the end of its log, which does not know
        return f"{reason}, exit code {code}"
    head = f"exit code {code}" if reason in ("", "Error") else f"{reason}, exit code {code}"
    text = (last.get("message") or "").strip()
    return f"{head}: {text.splitlines()[-1][-1000:]}" if text else head
