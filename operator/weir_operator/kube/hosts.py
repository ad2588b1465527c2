"""Hosts in a cluster: `Start` and `Stop` of a fragment change what the host of its class and node shall run.

Nothing is remembered of a start or a stop under way: the ConfigMaps say how far it has come, and whichever
round or replica comes next continues from there. An entry is written when everything that it needs is there.
"""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from weir_operator.controller.decision import Protect, Start
from weir_operator.controller.observed_state import Lease, Process
from weir_operator.controller.ports import Refused
from weir_operator.kube import names
from weir_operator.kube.access import build_role_binding_spec, build_role_spec
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.driver_pod import Driver, DriverTemplate
from weir_operator.kube.host_budget import HostBudgets
from weir_operator.kube.host_objects import (
    OWN_HEAP_MB,
    STATE_SUFFIX,
    HostPlan,
    belongings,
    build_host_pod_spec,
    build_orders_spec,
    heap_for,
    heap_need,
    host_name,
    plan_host,
    sharing_class,
)
from weir_operator.kube.hosted_process import STOPPING, ObservedHost, read_hosted, under_host
from weir_operator.kube.lease import build_lease_spec, keep_apart
from weir_operator.kube.observed_hosts import HostKey, is_orders, is_owned_by, observed_hosts, write_entry
from weir_operator.kube.owner_references import OwnerReference

IDLE_SECONDS = 60.0
"""After which a host that has nothing to run goes."""

_CONFLICT = 409


class KubernetesHosts:
    """`observe` takes in what was read; everything else works on that, and on what was written since."""

    def __init__(self, api: Api, steady: Callable[[], float]) -> None:
        self._api = api
        self._steady = steady
        self._lock = threading.Lock()  # actions of one round are written side by side
        self._hosts: dict[HostKey, ObservedHost] = {}
        self._idle_since: dict[HostKey, float] = {}
        self.budgets = HostBudgets(api)
        self._apart: frozenset[str] = frozenset()  # names of fragments, as labels have them

    # observe

    def observe(
        self,
        home: Mapping[str, str],
        of_fragments: Iterable[Mapping[str, Any]],
        maps: Iterable[Mapping[str, Any]],
        pods: Iterable[Mapping[str, Any]],
        leases: Iterable[Mapping[str, Any]],
        budgets: Iterable[Mapping[str, Any]],
    ) -> None:
        """All that is labelled as a host's, and the fragments' Leases; `home`: as of `observed_hosts`."""
        with self._lock:
            self._hosts = observed_hosts(maps, pods, leases, home)
            self._apart = frozenset(
                lease["metadata"]["name"]
                for lease in of_fragments
                if names.APART in (lease["metadata"].get("annotations") or {})
            )
        self.budgets.observe(budgets, self._hosts.values())

    def pods(self) -> list[Mapping[str, Any]]:
        """Of all hosts."""
        return [host.pod for host in self._hosts.values() if host.pod is not None]

    def lease(self, lease: Lease, namespace: str) -> Lease:
        """A fragment's lease as its holder keeps it."""
        return under_host(lease, self._hosts, namespace)

    def leases(self) -> dict[str, Lease]:
        """Of the hosts themselves, by namespace/name."""
        return {"/".join(key): host.lease for key, host in self._hosts.items() if host.lease is not None}

    def processes(
        self,
        now: float,
        lost: Callable[[Mapping[str, Any]], float | None],
        silent: Mapping[str, float],
        warnings: Mapping[str, str],
    ) -> Iterator[tuple[Mapping[str, Any] | None, Process]]:
        """Each fragment in a host, with that one's Pod. `silent` is by namespace/name of the host."""
        for key, host in self._hosts.items():
            for order in host.entries():
                if host.has_left(order):
                    continue
                pod = host.pod
                lost_since = lost(pod) if pod else None
                warning = warnings.get(pod["metadata"]["uid"], "") if pod else ""
                yield pod, read_hosted(host, order, now, lost_since, silent.get("/".join(key)), warning)

    def addresses(self) -> dict[tuple[str, int], str]:
        """Where the metrics of each fragment are."""
        return {
            (order.fragment, order.epoch): f"{ip}:{names.RUNTIME_PORT}/fragments/{order.key}"
            for host in self._hosts.values()
            if host.pod is not None and (ip := (host.pod.get("status") or {}).get("podIP"))
            for order in host.entries()
        }

    def namespaces(self) -> dict[str, str]:
        """Of each fragment, as labels name it."""
        return {
            names.object_name(order.fragment): host.namespace
            for host in self._hosts.values()
            for order in host.entries()
        }

    # apply

    def has(self, fragment: str, epoch: int) -> bool:
        """Whether an epoch of a fragment is in a host, or was ordered there."""
        return self._where(names.pod_name(fragment, epoch)) is not None

    def takes(self, action: Start) -> bool:
        """Whether it is for a host, or is still in one."""
        is_apart = names.object_name(action.spec.name) in self._apart
        return (action.shared and not is_apart) or self.has(action.spec.name, action.spec.epoch)

    def _where(self, key: str) -> ObservedHost | None:
        return next((h for h in self._hosts.values() if any(o.key == key for o in h.entries())), None)

    def accounts(self, fragment: str) -> list[str]:
        """Of the hosts that run it, or are to."""
        own = (h for h in self._hosts.values() if any(o.fragment == fragment for o in h.entries()))
        return sorted(host.name for host in own)

    def start(self, action: Start, driver: Driver, template: DriverTemplate) -> None:
        """Has the host of the fragment's class and node run it, and makes that where it is not there."""
        if names.object_name(action.spec.name) in self._apart:
            raise ApiError(_CONFLICT, f"fragment {action.spec.name} has not left its host yet")
        with self._lock:
            plan = self._plan(action, driver, template)
            orders = self._orders(plan, driver.owner)
            host = self._hosts[driver.namespace, plan.name]
            self._have_fragment_objects(driver, plan, template)
            self._have_pod(plan, orders)
            self._write(
                host, driver.owner, names.pod_name(driver.fragment, driver.epoch), _entry(action, driver)
            )

    def _plan(self, action: Start, driver: Driver, template: DriverTemplate) -> HostPlan:
        """The host that has the fragment already; else the first one of its class with room for it."""
        present = self._where(names.pod_name(driver.fragment, driver.epoch))
        if present is not None:
            about = (driver, template, present.sharing, present.number)
            return plan_host(*about, action.spec, present.heap_mb)
        sharing = sharing_class(action.policy, driver, template)
        own = {host.name: host for host in self._hosts.values() if host.namespace == driver.namespace}
        for number in itertools.count(1):
            named = (driver, template, sharing, number, action.spec)
            beside = own.get(host_name(driver.node, sharing, number))
            if beside is None:
                return plan_host(*named, heap_for(action.spec))
            if _has_room(beside, action):
                return plan_host(*named, beside.heap_mb)
        raise AssertionError("there is always one more")

    def _orders(self, plan: HostPlan, owner: OwnerReference) -> Mapping[str, Any]:
        """The host's ConfigMap, made where it is not there."""
        key = plan.driver.namespace, plan.name
        if key not in self._hosts:
            self._api.create(build_orders_spec(plan, owner))
            manifest = self._api.get("ConfigMap", *key)
            if manifest is None or not is_orders(manifest):
                raise Refused(f"configmap {plan.name} exists and was not created by Weir; delete it")
            self._hosts[key] = ObservedHost({"kind": "ConfigMap", **manifest})
        return self._hosts[key].orders

    def _have_fragment_objects(self, driver: Driver, plan: HostPlan, template: DriverTemplate) -> None:
        """Its Lease, with rights on it for its hosts, old and new, and for a process of its own."""
        about = (driver.namespace, driver.fragment, driver.query, driver.owner)
        hosts = sorted({plan.name, *self.accounts(driver.fragment)})
        binding = build_role_binding_spec(*about, account=template.service_account, more=hosts)
        self._api.apply(build_role_spec(*about))
        self._api.apply(binding)
        self._api.apply(build_lease_spec(*about))

    def _have_pod(self, plan: HostPlan, orders: Mapping[str, Any]) -> None:
        pod = self._api.get("Pod", plan.driver.namespace, plan.name)
        if pod is None:
            for manifest in belongings(plan, orders):
                if manifest["metadata"]["name"].endswith(STATE_SUFFIX):
                    self._api.create(manifest)  # what it says is the host's
                else:
                    self._api.apply(manifest)
            self._api.create(build_host_pod_spec(plan, orders, uuid.uuid4().hex[:8]))
            return
        meta = pod["metadata"]
        if not is_owned_by(pod, orders):
            raise Refused(f"pod {plan.name} exists and was not created by Weir; delete it")
        if "deletionTimestamp" in meta:
            raise ApiError(_CONFLICT, f"pod {plan.name} is still terminating")
        if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            self._api.delete("Pod", meta["namespace"], meta["name"], meta["uid"])
            raise ApiError(_CONFLICT, f"pod {plan.name} is being replaced")

    def stop(self, fragment: str, epoch: int) -> bool:
        """False: it is in no host. First the host is told; when it has left, so is its entry."""
        key = names.pod_name(fragment, epoch)
        with self._lock:
            host = self._where(key)
            if host is None:
                return False
            order = next(o for o in host.entries() if o.key == key)
            if host.has_left(order):
                self._write(host, None, key, None)
            elif not order.stopping:
                self._tell_to_stop(host, key)
            return True

    def _tell_to_stop(self, host: ObservedHost, key: str) -> None:
        raw = json.loads(host.orders["data"][key])
        self._write(host, None, key, json.dumps({**raw, STOPPING: True}))

    def protect(self, action: Protect) -> bool:
        """Have a budget for the hosts of a fragment, or have none; False: it is in no host."""
        with self._lock:
            return self.budgets.protect(action, self._hosts.values())

    def _write(self, host: ObservedHost, owner: OwnerReference | None, key: str, text: str | None) -> None:
        orders = write_entry(self._api, host, owner, key, text)
        self._hosts[host.namespace, host.name] = replace(host, orders=orders)

    # sweep

    def sweep(self) -> None:
        """Entries of what has been left or should run alone, hosts that have nothing to run, and budgets that
        hold nothing."""
        with self._lock:
            for key, host in list(self._hosts.items()):
                for order in list(host.entries()):
                    if not order.stopping and (why := host.wants_alone(order)):
                        keep_apart(self._api, host.namespace, order.fragment, why)
                        self._tell_to_stop(self._hosts[key], order.key)
                    elif host.has_left(order):
                        self._write(self._hosts[key], None, order.key, None)
                self._go_if_idle(key, self._hosts[key])
                self._go_unheard(host)
            self._idle_since = {key: at for key, at in self._idle_since.items() if key in self._hosts}
            self.budgets.sweep(self._hosts.values())

    def _go_unheard(self, host: ObservedHost) -> None:
        """Whoever has never said anything, as no node has room for it or its image cannot be pulled, says no
        more when it is told to stop all."""
        orders = list(host.entries())
        if orders and all(order.stopping for order in orders) and host.is_unheard:
            assert host.pod is not None
            self._api.delete("Pod", host.namespace, host.name, host.pod["metadata"]["uid"])

    def _go_if_idle(self, key: HostKey, host: ObservedHost) -> None:
        if any(host.entries()):
            self._idle_since.pop(key, None)
            return
        since = self._idle_since.setdefault(key, self._steady())
        if self._steady() - since < IDLE_SECONDS or host.ends:
            return
        if host.pod is not None:
            meta = host.pod["metadata"]
            self._api.delete("Pod", host.namespace, host.name, meta["uid"])
            return
        self._api.delete("ConfigMap", host.namespace, host.name, host.orders["metadata"]["uid"])


def _entry(action: Start, driver: Driver) -> str:
    key = names.pod_name(driver.fragment, driver.epoch)
    spec = json.loads(driver.spec)
    spec["state"] = f"{spec['state'].removesuffix('.json')}-{key}.json"  # of which a Pod of its own has one
    return json.dumps({
        "fragment": driver.fragment, "epoch": driver.epoch, "build": action.build, "query": action.query,
        "spec": spec,
    })  # fmt: skip


def _has_room(host: ObservedHost, action: Start) -> bool:
    """For one more. One that is about to go takes none."""
    if host.ends:
        return False
    needs = [heap_need(action.spec)]
    for order in host.entries():
        spec = json.loads(host.orders["data"][order.key]).get("spec") or {}
        needs.append(heap_need(replace(action.spec, heap_mb=int(spec.get("heap_mb") or OWN_HEAP_MB))))
    return OWN_HEAP_MB + sum(needs) <= host.heap_mb
