"""Files of queries that are gone: owner references take the objects, a short-lived Pod takes the files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from weir_operator.controller.ports import Unreachable
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.driver_pod import DATA_PATH, RESTRICTED_CONTAINER, RESTRICTED_POD, Template
from weir_operator.kube.settings import Settings
from weir_operator.kube.template import template_of
from weir_operator.kube.times import seconds

log = logging.getLogger("weir")
SWEEP_POD = "weir-sweep"
PENDING_SECONDS = 60.0  # a sweep that cannot begin must not keep fragments from starting


def build_sweep_pod_spec(namespace: str, keep: frozenset[str], template: Template) -> dict[str, Any]:
    """A Pod that removes every folder of the namespace's volume but those of the fragments in `keep`.

    It has no rights at the API server, and ends by itself.
    """
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
            "activeDeadlineSeconds": 300,
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
                    "volumeMounts": [{"name": "data", "mountPath": DATA_PATH}],
                }
            ],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": template.claim}}],
        },
    }


class Sweeper:
    """Remembers which fragments each namespace had; what it forgets in a restart, its first round finds.

    `busy` are namespaces in which a sweep runs: no fragment may be started there meanwhile, for it would
    not be on the sweep's list.
    """

    def __init__(self, api: Api, settings: Settings, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock
        self._settings = settings
        self._known: dict[str, frozenset[str]] | None = None
        self._due: set[str] = set()
        self.busy: frozenset[str] = frozenset()

    def observe(
        self, present: Mapping[str, frozenset[str]], ending: frozenset[str], sweeps: list[Any]
    ) -> None:
        """Once a round: fragments by namespace, namespaces in which a driver is ending, sweep pods."""
        if self._known is None:
            self._due |= self._namespaces_with_files() - present.keys()
            self._known = {}
        self._due |= {ns for ns, had in self._known.items() if had - present.get(ns, frozenset())}
        self._known = dict(present)
        running = {pod["metadata"]["namespace"] for pod in sweeps}
        for pod in sweeps:
            if pod["status"]["phase"] in ("Succeeded", "Failed") or self._stuck(pod):
                self._attempt(pod["metadata"]["namespace"], lambda pod=pod: self._clear(pod))
        for namespace in sorted(self._due - ending - running):
            keep = present.get(namespace, frozenset())
            if self._attempt(namespace, lambda ns=namespace, keep=keep: self._sweep(ns, keep)):
                running.add(namespace)
        self.busy = frozenset(running)

    def _attempt(self, namespace: str, what: Callable[[], None]) -> bool:
        """What one namespace refuses keeps nobody from looking at the others; it comes up again."""
        try:
            what()
        except Unreachable:
            raise
        except ApiError as error:
            log.warning("files of queries that are gone stay in %s: %s", namespace, error)
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
            self._api.create(build_sweep_pod_spec(namespace, keep, template_of(None, self._settings)))
        except ApiError as error:
            if error.status not in (403, 404):  # the namespace is ending, or gone: its volume is not ours
                raise
        self._due.discard(namespace)

    def _stuck(self, pod: Mapping[str, Any]) -> bool:
        age = self._clock() - seconds(pod["metadata"]["creationTimestamp"])
        return bool(pod["status"]["phase"] == "Pending" and age > PENDING_SECONDS)

    def _clear(self, pod: Mapping[str, Any]) -> None:
        """The pod goes; after a failure the next fragment that goes from the namespace brings another."""
        meta, phase = pod["metadata"], pod["status"]["phase"]
        if phase != "Succeeded":
            log.warning(
                "files of queries that are gone stay in %s: the sweep is %s", meta["namespace"], phase
            )
        self._api.delete("Pod", meta["namespace"], meta["name"], meta["uid"])
