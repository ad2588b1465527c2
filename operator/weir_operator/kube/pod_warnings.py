"""Why the containers of a Pod are not made, where only Events say it: a volume or its Secret is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weir_operator.controller.ports import Unreachable
from weir_operator.controller.times import seconds
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.unreadable import UnreadableObjects

PATIENCE = 15.0  # [s] that volumes may take to be mounted before anybody asks
LOOK = 30.0  # [s] between two readings of a Pod's Events
MOST = 20  # readings a round
CREATING = ("", "ContainerCreating", "PodInitializing")
"""Reasons of a waiting container that are none."""


class PodWarnings:
    """The last warning about each Pod that waits for its containers to be made."""

    def __init__(self, api: Api, clock: Callable[[], float], unreadable: UnreadableObjects) -> None:
        self._api = api
        self._unreadable = unreadable
        self._clock = clock
        self._read: dict[str, tuple[float, str]] = {}  # by uid: when, and what was said

    def of(self, pods: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """By uid of those of `pods` that wait: reason and note. Raises Unreachable."""
        now = self._clock()
        waiting = {pod["metadata"]["uid"]: pod for pod in pods if _waits(pod, now)}
        self._read = {uid: read for uid, read in self._read.items() if uid in waiting}
        due = [uid for uid in waiting if now - self._read.get(uid, (float("-inf"), ""))[0] > LOOK]
        for uid in due[:MOST]:
            self._read[uid] = now, self._last_warning(waiting[uid]["metadata"]["namespace"], uid)
        return {uid: text for uid, (_, text) in self._read.items() if text}

    def _last_warning(self, namespace: str, uid: str) -> str:
        try:
            answer = self._api.list("Event", namespace, fields=f"regarding.uid={uid},type=Warning")
            events = self._unreadable.readable(answer)
        except Unreachable:
            raise
        except ApiError:
            return ""  # an account of an earlier version may not read them
        last = max(events, key=_time, default={})
        return ": ".join(filter(None, (last.get("reason"), last.get("note"))))


def _waits(pod: Mapping[str, Any], now: float) -> bool:
    """Whether its node has it and makes no container, and the Pod does not say why."""
    status, meta = pod.get("status") or {}, pod["metadata"]
    young = now - seconds(meta.get("creationTimestamp")) < PATIENCE
    if (
        young
        or status.get("phase") != "Pending"
        or not pod["spec"].get("nodeName")
        or "deletionTimestamp" in meta
    ):
        return False
    states = [container.get("state") or {} for container in status.get("containerStatuses") or ()]
    return all((state.get("waiting") or {}).get("reason", "") in CREATING for state in states)


def _time(event: Mapping[str, Any]) -> float:
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return next((seconds(at) for at in times if at), 0.0)
