"""The disruption budget of a host: one for all that run in it, because a Pod may have one alone.

Its annotations say for which fragments it is. It goes with the last of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.controller.decision import Protect
from weir_operator.kube import names
from weir_operator.kube.api import Api
from weir_operator.kube.host_objects import labels
from weir_operator.kube.hosted_process import ObservedHost
from weir_operator.kube.owner_references import OwnerReference, class_label

_FOR = f"for.{names.GROUP}/"
"""Beginning of an annotation of the budget; the fragment follows."""


def build_host_budget_spec(host: ObservedHost, fragments: Iterable[str]) -> dict[str, Any]:
    """The host's Pod must stay while it is well."""
    meta = host.orders["metadata"]
    owner = OwnerReference(meta["name"], meta["uid"], "ConfigMap", "v1")
    own = labels(host.name, "host") | class_label((meta.get("labels") or {}).get(names.CLASS, ""))
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": host.name,
            "namespace": host.namespace,
            "labels": own,
            "annotations": {_FOR + names.object_name(fragment): "true" for fragment in fragments},
            "ownerReferences": [owner.reference()],
        },
        "spec": {
            "minAvailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": {names.HOST: host.name, names.ROLE: "host"}},
        },
    }


class HostBudgets:
    """By host, for which of its fragments there is one."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._fragments: dict[tuple[str, str], set[str]] = {}
        self.protected: frozenset[str] = frozenset()
        """Fragments whose every host has one for them."""

    def observe(self, budgets: Iterable[Mapping[str, Any]], hosts: Iterable[ObservedHost]) -> None:
        """What was read of both."""
        hosts = list(hosts)
        own = {(host.namespace, host.name): host.orders["metadata"]["uid"] for host in hosts}
        self._fragments = {}
        for budget in budgets:
            meta = budget["metadata"]
            key = meta["namespace"], meta["name"]
            if own.get(key) in {owner.get("uid") for owner in meta.get("ownerReferences") or ()}:
                notes = meta.get("annotations") or {}
                self._fragments[key] = {n.removeprefix(_FOR) for n in notes if n.startswith(_FOR)}
        covered: dict[str, list[bool]] = defaultdict(list)
        for host in hosts:
            for order in host.entries():
                there = self._fragments.get((host.namespace, host.name), set())
                covered[order.fragment].append(names.object_name(order.fragment) in there)
        self.protected = frozenset(fragment for fragment, covers in covered.items() if all(covers))

    def protect(self, action: Protect, hosts: Iterable[ObservedHost]) -> bool:
        """Whether the fragment is in a host: then in the budget of each, or in none."""
        own = [host for host in hosts if any(o.fragment == action.fragment for o in host.entries())]
        for host in own:
            present = self._fragments.get((host.namespace, host.name), set())
            name = names.object_name(action.fragment)
            self._have(host, present | {name} if action.enabled else present - {name})
        return bool(own)

    def sweep(self, hosts: Iterable[ObservedHost]) -> None:
        """None is for a fragment that its host does not run."""
        for host in hosts:
            key = host.namespace, host.name
            if key in self._fragments:
                self._have(
                    host, self._fragments[key] & {names.object_name(o.fragment) for o in host.entries()}
                )

    def _have(self, host: ObservedHost, fragments: set[str]) -> None:
        key = host.namespace, host.name
        present = self._fragments.get(key)
        if fragments == (present or set()) and (present is None or fragments):
            return
        if fragments:
            self._api.apply(build_host_budget_spec(host, sorted(fragments)))
            self._fragments[key] = fragments
        else:
            self._api.delete("PodDisruptionBudget", host.namespace, host.name)
            self._fragments.pop(key, None)
