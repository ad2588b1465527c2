"""ClusterPort on one machine: objects from files, fragments as processes, leases as files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from weir_placement.fragments import Layout
from weir_placement.model.location import Flows
from weir_runtime import installation
from weir_runtime.exchanges import backend
from weir_runtime.lease import FileLease
from weir_runtime.sweep import FOLDERS

from weir_operator.api.policy import flows_of
from weir_operator.controller.decision import (
    Action,
    CleanUp,
    DeletePlacement,
    Event,
    HandOver,
    NewSnapshot,
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
from weir_operator.controller.observed_state import Lease, Manifest
from weir_operator.controller.ports import ClusterState, Refused
from weir_operator.controller.record import name_of
from weir_operator.local.processes import Processes
from weir_operator.local.snapshots import Snapshots
from weir_operator.local.store import RunStore


class LocalCluster:
    """Nodes are those of the manifests, which are only names for this machine's processes."""

    def __init__(self, root: Path, layout: Layout, objects: Callable[[], Sequence[Manifest]]) -> None:
        self.processes = Processes(root)
        self.store = RunStore(root)
        self.snapshots = Snapshots(root)
        self._layout = layout
        self._own = installation.of_run(root)
        self._objects = objects
        self._listeners: list[Callable[[Event], None]] = []
        self._last: dict[tuple[str, str], Event] = {}

    def on_event(self, tell: Callable[[Event], None]) -> None:
        """`tell` is called with every event."""
        self._listeners.append(tell)

    def observe(self) -> ClusterState:
        """Everything on disk, and the processes."""
        leases = {}
        for path in Path(self._layout.root, "leases").glob("*/*.json"):
            record = FileLease(path).read()
            if record is not None:
                leases[path.stem] = Lease(
                    path.stem,
                    record.epoch,
                    record.holder,
                    record.renewed,
                    record.duration,
                    record.handover,
                    record.released,
                    record.change,
                )
        objects = [self._with_status(o) for o in self._objects()] + list(self.store.placements())
        snapshots, restored = self.snapshots.observe(), self.snapshots.restored()
        return ClusterState(
            tuple(objects), self.processes.observe(), leases, snapshots=snapshots, restored=restored
        )

    def _with_status(self, manifest: Manifest) -> Manifest:
        if manifest["kind"] == "Node":
            return manifest
        meta = manifest["metadata"]
        status = self.store.status(manifest["kind"], meta.get("namespace", ""), meta["name"])
        return {**manifest, "status": status} if status else manifest

    def apply(self, action: Action) -> None:
        """One action of the loop."""
        if isinstance(action, Start):
            self.processes.start(action, self._environment(action.query), action.shared)
        elif isinstance(action, Stop):
            self.processes.stop(action.fragment, action.epoch)
        elif isinstance(action, HandOver):
            self._lease(action.fragment).hand_over(action.epoch)
        elif isinstance(action, RequestCut):
            self._lease_of(action).request_cut(action.lead, action.began, action.time)
        elif isinstance(action, RestoreLease):
            self._lease_of(action).restore(action.epoch, action.change)
        elif isinstance(action, RestoreState):
            self.snapshots.restore(action.snapshot, action.specs, self._own)
        elif isinstance(action, CleanUp):
            self._clean_up(action)
        elif isinstance(action, Protect):
            return  # nothing on one machine evicts a process

    def _environment(self, query: str) -> dict[str, str]:
        """The environment variables of a query's processes."""
        queries = (o for o in self._objects() if o["kind"] == "StreamQuery" and name_of(o) == query)
        spec = next((o.get("spec") or {} for o in queries), {})
        own = {installation.VARIABLE: self._own}
        return {entry["name"]: entry.get("value") or "" for entry in spec.get("env") or ()} | own

    def _lease_of(self, action: RequestCut | RestoreLease) -> FileLease:
        """Of a fragment that may have none yet."""
        namespace = action.query.split("/")[0]
        path = self._layout.lease.format(
            root=self._layout.root, namespace=namespace, fragment=action.fragment, epoch=1
        )
        return FileLease(path)

    def _lease(self, fragment: str) -> FileLease:
        return FileLease(self._find(fragment))

    def _find(self, fragment: str) -> Path:
        paths = list(Path(self._layout.root, "leases").glob(f"*/{fragment}.json"))
        if not paths:
            raise OSError(f"{fragment} has no lease yet")
        return paths[0]

    def _clean_up(self, action: CleanUp) -> None:
        """Checkpoint, flow, side log, state; the lease last, because it shows that something is left."""
        root = Path(self._layout.root)
        self._clean_up_flows(action)
        self.processes.forget(action.fragment)
        for what in FOLDERS:
            for path in root.glob(f"{what}/*/{action.fragment}"):
                shutil.rmtree(path, ignore_errors=True)
        for path in root.glob(f"state/*/{action.fragment}-e*.json"):
            path.unlink(missing_ok=True)
        for path in root.glob(f"leases/*/{action.fragment}.json*"):
            path.unlink(missing_ok=True)

    def _clean_up_flows(self, action: CleanUp) -> None:
        """Raises OSError when brokers or a store of a policy do not answer."""
        namespace = action.query.split("/")[0]
        policies = [flows_of(o) for o in self._objects() if o["kind"] == "PlacementPolicy"]
        for flows in (Flows(), *(flows for flows in policies if flows.identity)):
            backend(flows.kind).remove(
                flows, str(self._layout.root), namespace, lambda name: name == action.fragment, self._own
            )

    def write_placement(self, placement: WritePlacement | DeletePlacement) -> None:
        """See RunStore."""
        self.store.write_placement(placement)

    def write_status(self, status: WriteStatus) -> None:
        """See RunStore."""
        self.store.write_status(status)

    def order(self, order: SnapshotOrder | NewSnapshot) -> None:
        """There are no QuerySnapshots here: `HERE` refuses them."""
        raise Refused(f"QuerySnapshot {order.snapshot}: on one machine `weir snapshot` takes them")

    def emit(self, event: Event) -> None:
        """To the log of events and to all listeners; a repeated event is dropped."""
        if self._last.get((event.query, event.reason)) == event:
            return
        self._last[event.query, event.reason] = event
        self.store.emit(event)
        for tell in self._listeners:
            tell(event)
