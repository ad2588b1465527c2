"""The cluster port on Kubernetes: reads the whole state, applies every action."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from weir_placement.model.fragment import FragmentSpec

from weir_operator.api.kinds import KINDS
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
from weir_operator.controller.observed_state import Process
from weir_operator.controller.ports import ClusterState, Refused
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError, NoAnswer, ObjectGone
from weir_operator.kube.budget import protect
from weir_operator.kube.fragment import clean_up, driver_of, start_fragment, stop_fragment
from weir_operator.kube.hosts import KubernetesHosts
from weir_operator.kube.lease import (
    SilentHolders,
    broken_notes,
    build_released_lease_spec,
    hand_over,
    read_lease,
    request_cut,
)
from weir_operator.kube.matrices import Matrices
from weir_operator.kube.nodes import by_fragment, drained_pods, lost_node_of, lost_since, without_images
from weir_operator.kube.operator_class import Served, label_of
from weir_operator.kube.owner_references import OwnerReference
from weir_operator.kube.ownership import (
    delete_own,
    epoch_of,
    in_own_namespace,
    namespaces_of_fragments,
    own_pods,
)
from weir_operator.kube.pod_warnings import PodWarnings
from weir_operator.kube.process import executors_by_driver, read_process
from weir_operator.kube.quantities import PodRequests, requests_on_node, sum_by_node
from weir_operator.kube.quota import usage_by_query
from weir_operator.kube.refusals import refusals
from weir_operator.kube.report_writer import ReportWriter
from weir_operator.kube.settings import OperatorSettings
from weir_operator.kube.shapes import check_fragment
from weir_operator.kube.snapshots import PODS, SnapshotPods
from weir_operator.kube.sweeper import Sweeper, fragments_by_namespace
from weir_operator.kube.template import template_of
from weir_operator.kube.unreadable import UnreadableObjects

log = logging.getLogger("weir")
NAMESPACED = {kind.name: kind.namespaced for kind in KINDS}
TENANCY = ("ResourceQuota", "LimitRange")
FOREIGN_SECONDS = 30.0
DEFAULT_POLICY = "default"  # built in
Address = tuple[str, int]  # fragment, epoch


class KubernetesCluster:
    """`observe` reads afresh; everything else finds owners and namespaces in what was last observed."""

    def __init__(self, api: Api, settings: OperatorSettings, clock: Callable[[], float] = time.time) -> None:
        self._api = api
        self._settings = settings
        self._clock = clock
        self._steady = time.monotonic if clock is time.time else clock
        self._sweeper = Sweeper(api, settings, clock)
        self.hosts = KubernetesHosts(api, self._steady)
        self._snapshots = SnapshotPods(api, settings, clock)
        self.matrices = Matrices(api, settings.namespace, self._steady)
        self._silence = SilentHolders()
        self.unreadable = UnreadableObjects()
        self._unreadable_requests = UnreadableObjects()
        self._warnings = PodWarnings(api, clock, self.unreadable)
        self._requests: list[PodRequests] = []  # of all pods
        self._own_pods: frozenset[str] = frozenset()  # uids of drivers and executors
        self._foreign_at = float("-inf")
        self._drained_since: dict[str, float] = {}  # by uid of a driver's pod
        self._reports = ReportWriter(api, settings, clock)
        self._objects = self._reports.objects
        self._namespaces: dict[str, str] = {}  # of each fragment
        self.addresses: dict[Address, str] = {}  # host:port of each driver's metrics
        self.processes: tuple[Process, ...] = ()  # as last observed

    # observe

    def observe(self) -> ClusterState:
        """Raises ApiError when the API server does not answer: the loop then changes nothing.

        Requests of other pods are read at the same time: it is the longest list, and need not be in step.
        """
        with ThreadPoolExecutor(1, "others") as beside:
            others = beside.submit(self._all_requests)
            try:
                own = self._own()
                return replace(own, foreign=sum_by_node(others.result(), self._own_pods))
            except ApiError:
                self._silence.forget()
                raise

    def _own(self) -> ClusterState:
        self.unreadable.begin()
        nodes = list(map(without_images, self._api.list("Node")))
        objects = [
            *nodes,
            *(o for kind, namespaced in NAMESPACED.items() for o in self._list(kind, namespaced)),
        ]
        objects += self.matrices.objects(self._readable(objects, "NetworkTopology"))
        placements = self._readable(objects, "Placement")
        home, everything = namespaces_of_fragments(placements), objects
        served = Served(self._settings.operator_class, objects, placements)
        self._reports.describes, objects = served.describes(), served.objects(objects)
        all_pods = in_own_namespace(self._of_fragments("Pod", names.WORKERS), home)
        pods = served.of_fragments(all_pods)
        objects += [
            o for kind in TENANCY for o in self._list(kind)
        ]  # read after the pods: what quotas leave is rather under- than overestimated
        drivers = [pod for pod in pods if pod["metadata"]["labels"][names.ROLE] == "driver"]
        workers = executors_by_driver(pods)
        pods_of_hosts = frozenset(pod["metadata"]["uid"] for pod in self.hosts.pods())
        self._own_pods = own_pods(drivers, workers, objects) | pods_of_hosts
        all_leases = in_own_namespace(self._of_fragments("Lease"), home)
        leases = served.of_fragments(all_leases)
        budgets = served.of_fragments(in_own_namespace(self._of_fragments("PodDisruptionBudget"), home))
        self._remember(objects, drivers, leases, budgets)
        self._sweep(everything, all_pods, all_leases)
        if self._settings.hosts:
            parts = map(self._of_hosts, ("ConfigMap", "Pod", "Lease", "PodDisruptionBudget"))
            self.hosts.observe(home, leases, *parts)
        leases_by_fragment = {
            m["metadata"]["name"]: self.hosts.lease(lease, m["metadata"]["namespace"])
            for m in leases
            if (lease := read_lease(m))
        }
        nodes = self.unreadable.readable(nodes)  # what the others have is unknown: nothing leaves them
        losses = {node["metadata"]["name"]: lost_since(node) for node in nodes}
        warnings = self._warnings.of([*drivers, *self.hosts.pods()])
        renewed = {**leases_by_fragment, **self.hosts.leases()}
        silent = self._silence.since(renewed, self._steady(), self._clock())
        processes = tuple(
            read_process(
                pod,
                leases_by_fragment.get(pod["metadata"]["labels"][names.FRAGMENT]),
                lost_node_of(pod, losses),
                workers.get(pod["metadata"]["uid"], ()),
                silent.get(pod["metadata"]["labels"][names.FRAGMENT]),
                warnings.get(pod["metadata"]["uid"], ""),
            )
            for pod in drivers
        )
        lost = partial(lost_node_of, losses=losses)
        hosted = list(self.hosts.processes(self._clock(), lost, silent, warnings))
        in_pods = [*zip(drivers, processes, strict=True), *((pod, p) for pod, p in hosted if pod)]
        processes += tuple(process for _, process in hosted)
        self.processes = processes
        snapshot_pods = self.unreadable.readable(self._list("Pod", selector=PODS))
        self._snapshots.observe(objects, snapshot_pods, leases_by_fragment)
        self._tidy_hosts()
        own = {budget["metadata"]["name"] for budget in budgets} - self.hosts.namespaces().keys()
        protected = self.hosts.budgets.protected | own
        return ClusterState(
            objects=tuple(objects),
            processes=processes,
            leases=leases_by_fragment,
            protected=protected,
            budget_since=self._drains(nodes, in_pods),
            quota_usage=usage_by_query(pods, self.queries(), self._clock()),
            snapshots=self._snapshots.contents,
            snapshot_jobs=self._snapshots.jobs,
            restored=self._snapshots.restored,
        )

    def _readable(self, objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
        return self.unreadable.readable(o for o in objects if o["kind"] == kind)

    def _of_fragments(self, kind: str, selector: str = names.OF_FRAGMENTS) -> list[dict[str, Any]]:
        """Objects with a fragment's labels that are what these say."""
        manifests = self.unreadable.readable(self._list(kind, selector=selector), check_fragment)
        for manifest in manifests if kind == "Lease" else ():
            for error in broken_notes(manifest):
                self.unreadable.add(manifest, error)
        return manifests

    def _of_hosts(self, kind: str) -> list[dict[str, Any]]:
        """What belongs to this release's hosts."""
        own = self.unreadable.readable(self._list(kind, selector=names.OF_HOSTS))
        return [manifest for manifest in own if label_of(manifest) == self._settings.operator_class]

    def _tidy_hosts(self) -> None:
        """What could not be tidied now is tidied in the next round."""
        try:
            self.hosts.sweep()
        except NoAnswer:
            raise
        except ApiError as error:
            log.warning("a host cannot be tidied up: %s", error)

    def unreadable_objects(self) -> dict[tuple[str, str], int]:
        """How many objects are left out because of what they hold, by kind and namespace."""
        return self.unreadable.counts(self._unreadable_requests)

    def queries(self) -> list[Mapping[str, Any]]:
        """The StreamQueries as last observed."""
        return [o for (kind, _, _), o in list(self._objects.items()) if kind == "StreamQuery"]

    def _list(self, kind: str, namespaced: bool = True, selector: str = "") -> Iterator[dict[str, Any]]:
        for namespace in (self._settings.watch_namespaces if namespaced else ()) or ("",):
            yield from self._api.list(kind, namespace, selector)

    def _remember(
        self,
        objects: list[dict[str, Any]],
        pods: list[dict[str, Any]],
        leases: list[dict[str, Any]],
        budgets: list[dict[str, Any]],
    ) -> None:
        self._objects = self._reports.objects = {
            (o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects
        }
        self._namespaces = {
            o["metadata"]["labels"][names.FRAGMENT]: o["metadata"]["namespace"]
            for o in [*budgets, *pods, *leases]
        } | self.hosts.namespaces()
        self.addresses = {
            (pod["metadata"]["labels"][names.FRAGMENT], epoch_of(pod)): f"{address}:{names.RUNTIME_PORT}"
            for pod in pods
            if (address := pod.get("status", {}).get("podIP"))
        } | self.hosts.addresses()

    def _sweep(
        self, objects: list[dict[str, Any]], pods: list[dict[str, Any]], leases: list[dict[str, Any]]
    ) -> None:
        """Files go when their fragment has neither a Placement that names it, nor a lease, nor a pod; not
        where a Placement cannot be read."""
        readable = self._readable(objects, "Placement")
        all_of = [o for o in objects if o["kind"] == "Placement"]
        present = fragments_by_namespace(readable, [*pods, *leases])
        ending = {p["metadata"]["namespace"] for p in pods if "deletionTimestamp" in p["metadata"]}
        uids = {placement["metadata"]["uid"] for placement in readable}
        ending |= {p["metadata"]["namespace"] for p in all_of if p["metadata"]["uid"] not in uids}
        sweeps = self._list("Pod", selector=f"{names.MANAGED},{names.ROLE}=sweep")
        policies = self._readable(objects, "PlacementPolicy")
        self._sweeper.observe(present, frozenset(ending), self.unreadable.readable(sweeps), policies)

    def _all_requests(self) -> list[PodRequests]:
        """Requests of every pod, whatever its labels say: a long list, so only every 30 seconds."""
        if self._steady() - self._foreign_at >= FOREIGN_SECONDS:
            self._unreadable_requests.begin()
            readings = self._unreadable_requests.read(self._api.list("Pod"), requests_on_node)
            self._requests = [requests for _, requests in readings if requests is not None]
            self._foreign_at = self._steady()
        return self._requests

    def _drains(
        self, nodes: list[dict[str, Any]], in_pods: list[tuple[Mapping[str, Any], Process]]
    ) -> dict[str, float]:
        """By fragment on a node that is being drained: since when, whether or not it has a disruption budget:
        a budget that has expired is not made again."""
        pods = [pod for pod, _ in in_pods]
        self._drained_since = drained_pods(nodes, pods, self._drained_since, self._clock())
        return by_fragment(pods, (process for _, process in in_pods), self._drained_since)

    # apply

    def apply(self, action: Action) -> None:
        """Carry out one action; ApiError: it is tried again in the next round."""
        with refusals():
            self._apply(action)

    def _apply(self, action: Action) -> None:
        match action:
            case Start():
                self._start(action)
            case Stop():
                if not self.hosts.stop(action.fragment, action.epoch):
                    stop_fragment(self._api, self._namespace(action.fragment), action.fragment, action.epoch)
            case HandOver():
                hand_over(self._api, self._namespace(action.fragment), action)
            case RestoreLease():
                namespace, owner = action.query.split("/", 1)[0], self._owner(action.query)
                self._api.create(build_released_lease_spec(action, namespace, owner))
            case RestoreState():
                self._restore(action)
            case RequestCut():
                request_cut(self._api, self._namespace(action.fragment), action)
            case Protect() if self.hosts.protect(action):
                return
            case Protect(enabled=True):
                protect(self._api, action, self._owner(action.query))
            case Protect(fragment=fragment):
                delete_own(self._api, "PodDisruptionBudget", self._namespace(fragment), fragment)
            case CleanUp():
                clean_up(self._api, self._namespace(action.fragment), action.fragment)

    def _start(self, action: Start) -> None:
        namespace, name = action.query.split("/", 1)
        self._let_sweeps_end(namespace, action.spec)
        query = self._objects.get(("StreamQuery", namespace, name))
        policy = self._objects.get(("PlacementPolicy", "", action.policy))
        if policy is None and action.policy != DEFAULT_POLICY:  # its pods must not be less restricted
            raise Refused(f"PlacementPolicy {action.policy}, which has its pod template, does not exist")
        owner, template = self._owner(action.query), template_of(policy, self._settings)
        template = replace(template, image=action.image or template.image)
        name = action.spec.name
        if self.hosts.takes(action):
            self.hosts.start(action, driver_of(action, owner, query or {}), template)
        else:
            accounts = self.hosts.accounts(name)
            start_fragment(self._api, action, owner, query or {}, template, accounts)
        self._namespaces[names.object_name(action.spec.name)] = namespace

    def _restore(self, action: RestoreState) -> None:
        namespace = action.query.split("/", 1)[0]
        self._let_sweeps_end(namespace, *action.specs)
        self._snapshots.restore(action, self._owner(action.query))

    def _let_sweeps_end(self, namespace: str, *specs: FragmentSpec) -> None:
        if any(self._sweeper.in_the_way(namespace, names.object_name(spec.name)) for spec in specs):
            raise ApiError(409, f"files of deleted queries are being removed in namespace {namespace}")

    def order(self, order: SnapshotOrder | NewSnapshot) -> None:
        """Carry out one order about a QuerySnapshot; ApiError: it is tried again in the next round."""
        with refusals():
            self._snapshots.order(order)

    def _namespace(self, fragment: str) -> str:
        try:
            return self._namespaces[names.object_name(fragment)]
        except KeyError:
            raise ObjectGone(404, f"fragment {fragment} has neither a pod nor a lease") from None

    def _owner(self, query: str) -> OwnerReference:
        """The query's Placement, which is written before any of its fragments is started."""
        namespace, name = query.split("/", 1)
        placement = self._objects.get(("Placement", namespace, name)) or self._api.get(
            "Placement", namespace, name
        )
        if not placement:
            raise ApiError(404, f"query {query} has no Placement")
        return OwnerReference(
            name, placement["metadata"]["uid"], operator_class=self._settings.operator_class
        )

    # report

    def write_placement(self, placement: WritePlacement | DeletePlacement) -> None:
        """Record an intent. ApiError 409: it has changed since it was observed."""
        self._reports.write_placement(placement)

    def write_status(self, status: WriteStatus) -> None:
        """Write the `/status` subresource of a user's object, and nothing else in it."""
        self._reports.write_status(status)

    def emit(self, event: Event) -> None:
        """Publish an event about the query."""
        self._reports.emit(event)
