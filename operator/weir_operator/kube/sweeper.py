"""Files of deleted queries: owner references delete the objects, a short-lived Pod deletes the files."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from weir_placement.model.location import STORE, Flows

from weir_operator.api.policy import flows_of
from weir_operator.controller.ports import Unreachable
from weir_operator.controller.times import seconds
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError, ObjectGone
from weir_operator.kube.driver_pod import (
    DATA_PATH,
    RESTRICTED_CONTAINER,
    RESTRICTED_POD,
    SECRETS_PATH,
    DriverTemplate,
)
from weir_operator.kube.fragment import secrets_in
from weir_operator.kube.settings import OperatorSettings
from weir_operator.kube.template import template_of

log = logging.getLogger("weir")
SWEEP_POD = "weir-sweep"
DEADLINE_SECONDS = 300
FLOWS = "WEIR_FLOWS"  # environment variable of weir_runtime.sweep
PENDING_SECONDS = 60.0  # after which a sweep that cannot begin no longer keeps fragments from starting

RETRY_SECONDS = 60.0  # after a namespace has refused a sweep


def build_sweep_pod_spec(
    namespace: str,
    keep: frozenset[str],
    template: DriverTemplate,
    elsewhere: Sequence[Flows] = (),
) -> dict[str, Any]:
    """A Pod that removes every folder on the namespace's volume, and every flow that the namespace has
    `elsewhere`, that are the installation's, except those of the fragments in `keep`.

    It has no rights at the API server, and ends by itself. It starts even without a secret that is not in
    the namespace: no fragment there could have used it. The template's account is for stores that know it.
    """
    secrets = secrets_in(*(flows.options for flows in elsewhere))
    places = [{"kind": f.kind, "address": f.address, "options": f.options} for f in elsewhere]
    account = {"serviceAccountName": template.service_account} if template.service_account else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": SWEEP_POD,
            "namespace": namespace,
            "labels": {names.MANAGED_BY: names.FIELD_MANAGER, names.ROLE: "sweep"},
        },
        "spec": {
            "restartPolicy": "OnFailure",
            "activeDeadlineSeconds": DEADLINE_SECONDS,
            "terminationGracePeriodSeconds": 1,  # what it has not removed yet, the next one removes
            **account,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "imagePullSecrets": [{"name": name} for name in template.pull_secrets],
            "securityContext": dict(template.pod_security or RESTRICTED_POD),
            "containers": [
                {
                    "name": "sweep",
                    "image": template.image,
                    "imagePullPolicy": template.pull_policy,
                    "args": ["python3", "-m", "weir_runtime.sweep", DATA_PATH, namespace, *sorted(keep)],
                    "resources": {
                        "requests": {"cpu": "50m", "memory": "64Mi"},
                        "limits": {"memory": "256Mi"},
                    },
                    "securityContext": dict(template.container_security or RESTRICTED_CONTAINER),
                    "env": [
                        {"name": names.INSTALLATION, "value": template.installation},
                        *([{"name": FLOWS, "value": json.dumps(places)}] if places else []),
                    ],
                    "volumeMounts": [
                        {"name": "data", "mountPath": DATA_PATH},
                        *(
                            {"name": f"secret-{i}", "mountPath": f"{SECRETS_PATH}/{name}", "readOnly": True}
                            for i, name in enumerate(secrets)
                        ),
                    ],
                }
            ],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": template.claim}},
                *(
                    {
                        "name": f"secret-{i}",
                        "secret": {"secretName": name, "defaultMode": 0o440, "optional": True},
                    }
                    for i, name in enumerate(secrets)
                ),
            ],
        },
    }


def fragments_by_namespace(
    placements: Iterable[Mapping[str, Any]], owned: Iterable[Mapping[str, Any]]
) -> dict[str, frozenset[str]]:
    """Those that Placements name, and those that still have a pod or a lease (`owned`)."""
    by_namespace: dict[str, set[str]] = defaultdict(set)
    for placement in placements:
        fragments = (placement.get("spec") or {}).get("fragments") or ()
        by_namespace[placement["metadata"]["namespace"]] |= {fragment["name"] for fragment in fragments}
    for item in owned:
        by_namespace[item["metadata"]["namespace"]].add(item["metadata"]["labels"][names.FRAGMENT])
    return {namespace: frozenset(fragments) for namespace, fragments in by_namespace.items()}


class Sweeper:
    """Remembers which fragments each namespace had; after a restart its first round sweeps every namespace
    that may have files but no fragments.

    `busy` are namespaces in which a sweep runs. A fragment that is not on its list may not be started there
    meanwhile: the sweep is ended for it, and begun again later.
    """

    def __init__(self, api: Api, settings: OperatorSettings, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock
        self._settings = settings
        self._before: dict[str, frozenset[str]] | None = None
        self._due: set[str] = set()
        # Every place besides the volume where a policy ever had flows, and the policy's spec.
        self._policies: dict[tuple[str, ...], tuple[Flows, Mapping[str, Any]]] = {}
        self._retry_at: dict[str, float] = {}  # by namespace that refused a sweep
        self._reported: set[str] = set()  # lines about what a sweep left
        self.busy: frozenset[str] = frozenset()
        self._kept: dict[str, frozenset[str]] = {}  # by namespace in which a sweep runs

    def observe(
        self,
        present: Mapping[str, frozenset[str]],
        ending: frozenset[str],
        sweeps: list[Any],
        policies: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Once a round: fragments by namespace, namespaces in which a driver is ending, sweep pods, and the
        PlacementPolicies. Flows are also swept where a policy had them before it was edited."""
        for policy in policies:
            flows = flows_of(policy)
            if flows.identity:
                self._policies[flows.kind, *flows.identity] = (flows, policy.get("spec") or {})
        if self._before is None:
            self._due |= self._namespaces_with_files() - present.keys()
            self._before = {}
        self._due |= {ns for ns, had in self._before.items() if had - present.get(ns, frozenset())}
        self._before = dict(present)
        named = (pod for pod in sweeps if pod["metadata"]["name"] == SWEEP_POD)
        sweeps = [pod for pod in named if not self._over(pod)]
        running = {pod["metadata"]["namespace"] for pod in sweeps}
        self._kept = {pod["metadata"]["namespace"]: frozenset(_arguments(pod)) for pod in sweeps}
        for pod in sweeps:
            if _phase(pod) in ("Succeeded", "Failed") or self._stuck(pod):
                self._attempt(pod["metadata"]["namespace"], partial(self._clear, pod))
        waiting = {namespace for namespace, at in self._retry_at.items() if self._clock() < at}
        for namespace in sorted(self._due - ending - running - waiting):
            keep = present.get(namespace, frozenset())
            if self._attempt(namespace, partial(self._sweep, namespace, keep)):
                running.add(namespace)
                self._kept[namespace] = keep
        self.busy = frozenset(running)

    def in_the_way(self, namespace: str, fragment: str) -> bool:
        """Whether a sweep runs that could remove what this fragment writes. It is ended, and due again when
        its pod is gone: what waits is the removal, not the start."""
        if namespace not in self.busy or fragment in self._kept.get(namespace, frozenset()):
            return False
        self._due.add(namespace)
        self._attempt(namespace, partial(self._end, namespace))
        return True

    def _end(self, namespace: str) -> None:
        pod = self._api.get("Pod", namespace, SWEEP_POD)
        if pod is not None and _labelled(pod) and "deletionTimestamp" not in pod["metadata"]:
            self._api.delete("Pod", namespace, SWEEP_POD, pod["metadata"]["uid"])

    def _attempt(self, namespace: str, what: Callable[[], None]) -> bool:
        """A refusal by one namespace does not stop the sweeps of others; it is tried again later."""
        try:
            what()
        except Unreachable:
            raise
        except ApiError as error:
            log.warning("files of deleted queries remain in namespace %s: %s", namespace, error)
            if error.status == 403:  # a quota, a limit range
                self._retry_at[namespace] = self._clock() + RETRY_SECONDS
            return False
        return True

    def _namespaces_with_files(self) -> set[str]:
        claims = [c for ns in self._settings.watch_namespaces or ("",) for c in self._claims(ns)]
        return {claim["metadata"]["namespace"] for claim in claims}

    def _claims(self, namespace: str) -> list[dict[str, Any]]:
        return list(
            self._api.list("PersistentVolumeClaim", namespace, fields=f"metadata.name={self._settings.claim}")
        )

    def _sweep(self, namespace: str, keep: frozenset[str]) -> None:
        try:
            self._api.create(self._pod(namespace, keep))
        except ApiError as error:
            if not isinstance(error, ObjectGone) and error.status != 404:
                raise
        self._due.discard(namespace)

    def _pod(self, namespace: str, keep: frozenset[str]) -> dict[str, Any]:
        """It runs under a policy's account only where a store may recognise drivers by it."""
        allowed = [
            (flows, spec)
            for flows, spec in self._policies.values()
            if namespace in (spec.get("allowedNamespaces") or (namespace,))
        ]
        templates = [spec.get("podTemplate") or {} for flows, spec in allowed if flows.kind == STORE]
        accounts = (template.get("serviceAccountName") for template in templates)
        template = replace(
            template_of(None, self._settings), service_account=next(filter(None, accounts), None)
        )
        return build_sweep_pod_spec(namespace, keep, template, [flows for flows, _ in allowed])

    def _over(self, pod: Mapping[str, Any]) -> bool:
        """Whether it was deleted, and its time is over also on a node that does not answer."""
        age = self._clock() - seconds(pod["metadata"].get("creationTimestamp"))
        return "deletionTimestamp" in pod["metadata"] and age > DEADLINE_SECONDS + PENDING_SECONDS

    def _stuck(self, pod: Mapping[str, Any]) -> bool:
        age = self._clock() - seconds(pod["metadata"].get("creationTimestamp"))
        return _phase(pod) == "Pending" and age > PENDING_SECONDS

    def _clear(self, pod: Mapping[str, Any]) -> None:
        """Deletes the pod; after a failure the next fragment to leave the namespace brings another."""
        meta, phase = pod["metadata"], _phase(pod)
        if phase != "Succeeded":
            log.warning(
                "files of deleted queries remain in namespace %s: the sweep pod is %s",
                meta["namespace"],
                phase,
            )
        for line in sorted({*_termination_message(pod).splitlines()} - self._reported):
            log.warning("the sweep of %s has left %s", meta["namespace"], line)
            self._reported.add(line)
        self._api.delete("Pod", meta["namespace"], meta["name"], meta["uid"])


def _labelled(pod: Mapping[str, Any]) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return labels.get(names.MANAGED_BY) == names.FIELD_MANAGER and labels.get(names.ROLE) == "sweep"


def _phase(pod: Mapping[str, Any]) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _arguments(pod: Mapping[str, Any]) -> list[str]:
    """Of its container: the fragments that it keeps are among them."""
    return [
        argument
        for container in pod.get("spec", {}).get("containers", ())
        for argument in container.get("args", ())
    ]


def _termination_message(pod: Mapping[str, Any]) -> str:
    """The termination message of its container."""
    states = (
        status.get("state") or {} for status in (pod.get("status") or {}).get("containerStatuses") or ()
    )
    return "\n".join((state.get("terminated") or {}).get("message") or "" for state in states)
