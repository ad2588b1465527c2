"""A cluster in memory, whose processes do what docs/runtime.md promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weir_operator.controller.decision import (
    Action,
    CleanUp,
    DeletePlacement,
    Event,
    HandOver,
    Protect,
    RequestCut,
    RestoreLease,
    RestoreState,
    SnapshotOrder,
    Start,
    Stop,
    WritePlacement,
    WriteStatus,
)
from weir_operator.controller.observed_state import Lease, Process
from weir_operator.controller.ports import ClusterState, Refused
from weir_operator.kube.fragment import secrets_of
from weir_placement.model.change import Change


class Crash(BaseException):
    """The controller is killed here."""


@dataclass
class FakeCluster:
    """Processes that do what docs/runtime.md promises, one step with each look; `crash_at` counts writes."""

    time: float = 1000.0
    processes: dict[tuple[str, int], Process] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    placements: dict[str, WritePlacement] = field(default_factory=dict)
    statuses: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    writers: dict[str, list[int]] = field(default_factory=dict)  # epochs that held each lease, in order
    dead_nodes: frozenset[str] = frozenset()
    hung: set[str] = field(default_factory=set)  # fragments whose standbys go on warming up
    slow_nodes: frozenset[str] = frozenset()  # a standby there goes on warming up
    bad_images: frozenset[str] = frozenset()  # they cannot be pulled
    faulty_images: frozenset[str] = frozenset()  # they warm up, and fail as soon as they work
    never_up: set[str] = field(default_factory=set)  # fragments whose processes stay as they are
    cannot_run: set[str] = field(default_factory=set)  # fragments that have their lease all the same
    revoked: frozenset[str] = frozenset()  # Secrets with which nobody is let in any more
    shut_out: set[tuple[str, int]] = field(default_factory=set)  # processes that were started with one
    lead: float = 1.5  # [s] from a look until the cut that is agreed then
    before_request: Callable[[], None] = lambda: None  # what happens between a look and a request for a cut
    full_nodes: frozenset[str] = frozenset()  # the scheduler finds no room there
    drained: dict[str, float] = field(default_factory=dict)  # node -> since when it wants to be empty
    protected: set[str] = field(default_factory=set)
    snapshots: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    restored: set[str] = field(default_factory=set)  # fragments whose state came from a snapshot
    unfit: str = ""  # why a snapshot cannot be laid down
    crash_at: int | None = None
    writes: int = 0
    log: list[str] = field(default_factory=list)
    orders: list[SnapshotOrder] = field(default_factory=list)

    def observe(self) -> ClusterState:
        self.time += 1.0
        for key in sorted(self.processes):
            self._live(key)
        objects = tuple(self._placement(q, p) for q, p in self.placements.items()) + tuple(
            {
                "kind": "Query",
                "metadata": dict(zip(("namespace", "name"), n.split("/"), strict=True)),
                "status": s,
            }
            for n, s in self.statuses.items()
        )
        processes = tuple(self.processes.values())
        return ClusterState(
            objects,
            processes,
            dict(self.leases),
            protected=frozenset(self.protected),
            snapshots=self.snapshots,
            restored=frozenset(self.restored),
            budget_since={p.fragment: self.drained[p.node] for p in processes if p.node in self.drained},
        )

    def order(self, order: SnapshotOrder) -> None:
        self.orders.append(order)

    def put_elsewhere(self) -> tuple[Process, str]:
        """Something ignores a pin without a word: the process as it was, and the node where it is now."""
        key, process = next(iter(self.processes.items()))
        other = next(n for n in ("n1", "n2", "n3") if n != process.node)
        self.processes[key] = replace(process, node=other)
        return process, other

    def _placement(self, query: str, written: WritePlacement) -> dict[str, Any]:
        namespace, name = query.split("/")
        return {
            "kind": "Placement",
            "metadata": {"namespace": namespace, "name": name},
            "spec": written.spec,
            "status": written.status,
        }

    def _live(self, key: tuple[str, int]) -> None:
        process = self.processes[key]
        lease = self.leases.get(process.fragment)
        if process.node in self.dead_nodes:
            self.processes[key] = replace(process, state="lost")
            return
        if process.state in ("stopped", "failed", "finished"):
            return
        if process.fragment in self.never_up and not process.terminating:
            return
        if process.image in self.bad_images and not process.terminating:
            return
        if process.image in self.faulty_images and process.state == "running":
            self.processes[key] = replace(process, state="failed")
            return
        if process.state == "pending":
            if process.terminating:
                self.processes[key] = replace(process, state="stopped")
            elif process.planned_node not in self.full_nodes:
                self.processes[key] = replace(
                    process, state="starting", node=process.planned_node, no_room=False
                )
            return
        mine = lease is not None and lease.epoch == process.epoch and not lease.released
        if mine and lease and (process.terminating or (lease.handover or 0) > process.epoch):
            self.leases[process.fragment] = replace(lease, released=True)
            self.processes[key] = replace(process, state="stopped")
        elif mine and lease and process.state == "running":
            self.leases[process.fragment] = replace(lease, renewed=self.time, change=self._change(lease))
        elif process.terminating:
            self.processes[key] = replace(process, state="stopped")
        else:
            self._take_over(key, process, lease)

    def _change(self, lease: Lease) -> Change | None:
        """Agrees to a cut two looks ahead, and passes it then."""
        change, now = lease.change, round(self.time * 1e6)
        if change is None or change.passed:
            return change
        if change.time is None:
            return replace(change, time=now + round(self.lead * 1e6))
        return replace(change, passed=now >= change.time)

    def _take_over(self, key: tuple[str, int], process: Process, lease: Lease | None) -> None:
        standby = process.message == "standby"
        if process.state == "starting" and standby:
            ready = process.node not in self.slow_nodes and process.fragment not in self.hung
            self.processes[key] = replace(process, state="standby") if ready else process
            return
        invited = lease is None if not standby else lease is not None and lease.handover == process.epoch
        again = lease is not None and lease.epoch == process.epoch
        free = lease is None or lease.released or lease.expired(self.time)
        if again or (invited and free):  # `again`: its own earlier life is dead
            change = lease.change if lease else None
            self.leases[process.fragment] = Lease(
                process.fragment, process.epoch, "me", self.time, 10.0, change=change
            )
            if key in self.shut_out:
                self._shut_out(key, process)
                return
            if process.fragment in self.cannot_run:
                self._refuse(key, process)
                return
            self.writers.setdefault(process.fragment, []).append(process.epoch)
            self.processes[key] = replace(process, state="running")

    def _shut_out(self, key: tuple[str, int], process: Process) -> None:
        """It answers by what its earlier lives have left, and ends."""
        lease = self.leases[process.fragment]
        if lease.change and lease.change.time is None:
            agreed = replace(lease.change, time=round(self.time * 1e6))
            self.leases[process.fragment] = replace(lease, change=agreed)
        self.processes[key] = replace(process, state="failed")

    def _refuse(self, key: tuple[str, int], process: Process) -> None:
        """It has planned nothing, so a cut that is asked for has passed; then it ends with exit code 2."""
        lease = self.leases[process.fragment]
        if lease.change:
            passed = replace(lease.change, time=0, passed=True)
            self.leases[process.fragment] = replace(lease, change=passed)
        self.processes[key] = replace(process, state="failed", refused=True)

    def _write(self, what: str) -> None:
        self.log.append(what)
        self.writes += 1
        if self.crash_at is not None and self.writes == self.crash_at:
            raise Crash(what)

    def apply(self, action: Action) -> None:
        if isinstance(action, Start):
            key = (action.spec.name, action.spec.epoch)
            old = self.processes.get(key)
            (self.shut_out.add if self.revoked & set(secrets_of(action)) else self.shut_out.discard)(key)
            if old is None or old.state == "failed":
                full = action.spec.node in self.full_nodes
                self.processes[key] = Process(
                    *key,
                    node="" if full else action.spec.node,
                    planned_node=action.spec.node,
                    state="pending" if full else "starting",
                    no_room=full,
                    since=self.time,
                    build=action.build,
                    message="standby" if action.spec.standby else "",
                    image=action.image,
                )
        elif isinstance(action, HandOver):
            lease = self.leases.get(action.fragment)
            free = Lease(action.fragment, action.epoch, "", 0.0, 0.0, released=True)
            self.leases[action.fragment] = replace(lease, handover=action.epoch) if lease else free
        elif isinstance(action, RestoreLease):
            free = Lease(action.fragment, action.epoch, "", 0.0, 0.0, released=True, change=action.change)
            self.leases.setdefault(action.fragment, free)
        elif isinstance(action, RestoreState):
            if self.unfit:
                raise Refused(self.unfit)
            self.restored |= {spec.name for spec in action.specs}
        elif isinstance(action, RequestCut):
            self.before_request()
            self._request(action)
        elif isinstance(action, Stop):
            key = (action.fragment, action.epoch)
            process = self.processes.get(key)
            if process and process.state in ("stopped", "failed", "finished"):
                del self.processes[key]
            elif process:
                self.processes[key] = replace(process, terminating=True)
        elif isinstance(action, CleanUp):
            self.leases.pop(action.fragment, None)
            self.forgotten.append(action.fragment)
        elif isinstance(action, Protect):
            (self.protected.add if action.enabled else self.protected.discard)(action.fragment)
        self._write(type(action).__name__)

    def _request(self, action: RequestCut) -> None:
        lease = self.leases.get(action.fragment)
        if action.began is not None and (lease is None or not lease.holder):
            lease = lease or Lease(action.fragment, 1, "", 0.0, 0.0, released=True)
            passed = Change(action.lead, action.began, passed=True)
            self.leases[action.fragment] = replace(lease, change=passed)
        elif lease is not None and lease.change is None:
            self.leases[action.fragment] = replace(lease, change=Change(action.lead, action.time))

    def write_placement(self, placement: WritePlacement | DeletePlacement) -> None:
        if isinstance(placement, DeletePlacement):
            self.placements.pop(placement.query, None)
        else:
            # of a map whose last key goes the API server makes a null, and refuses it
            assert {} not in placement.status.values()
            old = self.placements.get(placement.query)
            asked_for = {k: old.spec[k] for k in ("approval", "approved", "pinned") if old and k in old.spec}
            written = replace(
                placement, spec={**placement.spec, **asked_for}, status=old.status if old else {}
            )
            self.placements[placement.query] = written
            self._write("WritePlacement's spec")
            self.placements[placement.query] = replace(written, status=placement.status)
        self._write(type(placement).__name__)

    def write_status(self, status: WriteStatus) -> None:
        self.statuses[f"{status.namespace}/{status.name}"] = status.status
        self._write("WriteStatus")

    def emit(self, event: Event) -> None:
        self.events.append(event)
        self._write("Event")

    def running(self) -> dict[str, str]:
        """Operator at the end of each running fragment -> node."""
        return {p.fragment.rsplit("-", 1)[0]: p.node for p in self.processes.values() if p.state == "running"}
