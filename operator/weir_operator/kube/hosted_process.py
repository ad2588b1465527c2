"""A host as it was observed, and each of its fragments as a process of the controller."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from weir_placement.model.hosted import HostedHolder

from weir_operator.controller.observed_state import Lease, Process, ProcessState
from weir_operator.kube import names
from weir_operator.kube.process import driver_container, has_no_room, pod_state

PHASES: Mapping[str, ProcessState] = {
    "starting": "starting",
    "standby-ready": "standby",
    "running": "running",
    "draining": "running",
    "released": "stopped",
    "fenced": "stopped",
    "finished": "finished",
}
"""Of what a host says of a fragment. One that has failed, or ends for another attempt, starts again."""

STOPPING = "stopping"

REFUSED = "FragmentError"
"""The error of a fragment that cannot run as it is told begins with it."""


@dataclass(frozen=True)
class HostOrder:
    """An entry of what a host shall run: one epoch of a fragment."""

    key: str
    fragment: str
    epoch: int
    build: str
    query: str
    stopping: bool = False

    @staticmethod
    def read(key: str, text: str) -> HostOrder | None:
        """None for what the operator does not write: anybody may edit the object."""
        try:
            raw = json.loads(text)
            order = HostOrder(
                key, str(raw["fragment"]), int(raw["epoch"]), str(raw["build"]), str(raw["query"]),
                bool(raw.get(STOPPING)),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return order if names.pod_name(order.fragment, order.epoch) == key else None


@dataclass(frozen=True)
class ObservedHost:
    """What there is of one host.

    Attributes:
        orders: the ConfigMap that says what it shall run.
        pod: None when there is none.
        said: what this Pod says of its fragments, by key; None: it has not said anything.
        lease: its own.
    """

    orders: Mapping[str, Any]
    pod: Mapping[str, Any] | None = None
    said: Mapping[str, Mapping[str, Any]] | None = None
    lease: Lease | None = None

    @property
    def name(self) -> str:
        """Of its objects."""
        return str(self.orders["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Where they are."""
        return str(self.orders["metadata"]["namespace"])

    @property
    def node(self) -> str:
        """Where it is to run."""
        return self._note(names.NODE)

    @property
    def sharing(self) -> str:
        """The hash of its class."""
        return self._note(names.SHARING)

    @property
    def number(self) -> int:
        """Among the hosts of its class and node, from 1."""
        last = self.name.rpartition("-")[2]
        return int(last) if last.isascii() and last.isdecimal() and len(last) < 7 else 1

    @property
    def heap_mb(self) -> int:
        """Of its JVM; 0 for what nobody of ours wrote."""
        text = self._note(names.HEAP)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0

    @property
    def ends(self) -> bool:
        """Whether its Pod is being deleted."""
        return self.pod is not None and "deletionTimestamp" in self.pod["metadata"]

    @property
    def is_unheard(self) -> bool:
        """Whether its Pod, which is to stay, has not said anything yet."""
        return self.pod is not None and not self.ends and self.said is None

    def _note(self, key: str) -> str:
        return str((self.orders["metadata"].get("annotations") or {}).get(key, ""))

    def entries(self) -> Iterator[HostOrder]:
        """What it shall run, and what it shall stop."""
        for key, text in (self.orders.get("data") or {}).items():
            if (order := HostOrder.read(key, text)) is not None:
                yield order

    def wants_alone(self, order: HostOrder) -> str:
        """Why it says that one of its fragments should have a process of its own; "": it does not."""
        return str((self.said or {}).get(order.key, {}).get("alone") or "")

    def has_left(self, order: HostOrder) -> bool:
        """Whether it was told to stop it, and has nothing of it any more."""
        if not order.stopping:
            return False
        return self.pod is None or (self.said is not None and order.key not in self.said)


def under_host(lease: Lease, hosts: Mapping[tuple[str, str], ObservedHost], namespace: str) -> Lease:
    """A fragment's lease as its holder keeps it: one in a host renews the host's."""
    hosted = HostedHolder.parse(lease.holder)
    if hosted is None:
        return lease
    host = hosts.get((namespace, hosted.lease.rpartition("/")[2]))
    if host is None or host.lease is None or host.lease.epoch != hosted.incarnation:
        return lease
    return replace(lease, renewed=host.lease.renewed, duration=host.lease.duration)


def read_hosted(
    host: ObservedHost,
    order: HostOrder,
    now: float,
    node_lost_since: float | None,
    silent_since: float | None,
    warning: str = "",
) -> Process:
    """One epoch of a fragment.

    Args:
        node_lost_since, silent_since, warning: as of `read_process`, of the host's Pod and Lease.
    """
    state: ProcessState
    no_room = silent = refused = False
    image, restarts, pod = "", 0, host.pod
    if pod is None:
        state, since, message = "failed", now, f"pod {host.name}, in which it is to run, is gone"
    else:
        status = pod.get("status") or {}
        container = driver_container(status.get("containerStatuses") or ())
        image = str(driver_container(pod["spec"].get("containers") or ()).get("image", ""))
        restarts = int(container.get("restartCount", 0))
        state, since, message = pod_state(pod, container, writes=True)
        message = warning or message
        no_room = state == "pending" and has_no_room(message) and not order.stopping
        if "running" in (container.get("state") or {}):
            about = (host.said or {}).get(order.key, {})
            state = PHASES.get(str(about.get("phase", "")), "starting")
            since = float(about.get("since") or since)
            restarts += int(about.get("restarts") or 0)
            message = str(about.get("error") or message)
            refused = about.get("phase") == "failed" and message.startswith(REFUSED)
            state = "failed" if refused else state
        elif state != "pending" and state != "failed":
            state = "starting"
        if state == "running" and (silent_since is not None or host.lease is None):
            state, since, no_room, silent = "starting", max(since, silent_since or since), True, True
            message = f"its host does not renew its lease: can node {host.node} reach the API server?"
        if alone := host.wants_alone(order):
            state, message = "failed", f"{alone}; it goes on in a pod of its own"
        if node_lost_since is not None and pod["spec"].get("nodeName"):
            state, since, no_room, silent = "lost", node_lost_since, False, False
            message = f"node {host.node} does not answer"
    return Process(
        fragment=order.fragment,
        epoch=order.epoch,
        node=str(pod["spec"].get("nodeName", "")) if pod else "",
        planned_node=host.node,
        state=state,
        since=since,
        build=order.build,
        image=image,
        restarts=restarts,
        message=message,
        terminating=order.stopping or host.ends,
        refused=refused and state == "failed",
        silent=silent,
        no_room=no_room,
    )
