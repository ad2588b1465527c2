"""The optional validating webhook: errors and doubts, told on apply, worded as on the command line.

A missing reference is no error here: the object that it names may be applied next.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import kopf

from weir_operator.api.query import StreamQuery
from weir_operator.controller.observed_state import Manifest
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.certificate import OwnCertificate
from weir_operator.kube.driver_pod import SITE
from weir_operator.kube.settings import OperatorSettings
from weir_operator.manifests.doubts import doubts_about
from weir_operator.manifests.finding import Key, isolated
from weir_operator.manifests.objects import Objects, from_raw
from weir_operator.manifests.parse import key_of
from weir_operator.manifests.problem import Built, build
from weir_operator.manifests.site import FilesPlace, Site

FRESH_SECONDS = 5.0  # for a batch of objects that is applied together the API server is read once
MOUNTED = Path("/etc/weir/webhook")
"""Where the chart mounts the certificate's Secret (tls.crt, tls.key), or an empty folder in memory in which
the operator makes its own."""
NAMESPACED = ("Stream", "StreamQuery", "InputProfile", "ResourceQuota", "LimitRange")
CLUSTER_WIDE = ("Node", "PlacementPolicy", "NetworkTopology")


WARNINGS = 3_000
"""[characters] The API server cuts off those of an answer beyond 4,096."""


@dataclass(frozen=True)
class AdmissionAnswer:
    """`complaint`: what is wrong with the object; empty when it may come in. `warnings`: what is well written
    and hardly meant."""

    complaint: str = ""
    warnings: tuple[str, ...] = ()


class Admission:
    """Checks an object against those in the cluster. Both replicas answer, leading or not."""

    def __init__(
        self, api: Api, settings: OperatorSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._api = api
        self._namespaces = settings.watch_namespaces or ("",)
        self._executors, self._hosts = settings.executors, settings.hosts
        self._clock = clock
        self._lock = threading.Lock()
        self._objects: list[Manifest] = []
        self._at = float("-inf")

    def answer(self, manifest: Mapping[str, Any]) -> AdmissionAnswer:
        """About an object; it may come in when the cluster cannot be read."""
        try:
            others = self._others()
        except ApiError:
            return AdmissionAnswer()
        return answer(manifest, others, self._executors, self._hosts)

    def _others(self) -> list[Manifest]:
        with self._lock:
            if self._clock() - self._at >= FRESH_SECONDS:
                objects = [o for kind in CLUSTER_WIDE for o in self._api.list(kind)]
                objects += [
                    o for ns in self._namespaces for kind in NAMESPACED for o in self._api.list(kind, ns)
                ]
                self._objects, self._at = list(objects), self._clock()
            return self._objects


def webhook_server(
    port: int, own: OwnCertificate | None, mounted: Path = MOUNTED, look: float = 10.0
) -> kopf.WebhookServer:
    """Serves the webhook by the operator's own certificate, or by the mounted one. Kopf looks at the files
    every `look` seconds and listens anew when they have changed: so they may be renewed."""
    certificate, key = (own.file, own.file) if own else (mounted / "tls.crt", mounted / "tls.key")
    return kopf.WebhookServer(
        addr="0.0.0.0", port=port, certfile=certificate, pkeyfile=key, file_check_interval=look
    )


def answer(
    manifest: Mapping[str, Any], others: list[Manifest], executors: bool = True, hosts: bool = False
) -> AdmissionAnswer:
    """Findings about the object itself, as if it were in the cluster with the others.

    A topology's matrix is not read here: its condition says what is wrong with it.
    """
    key = key_of(manifest)
    beside = [o for o in others if o.get("kind") == "Node" or key_of(o) != key]
    objects, findings = from_raw([*beside, manifest])
    before = from_raw(o for o in others if key_of(o) == key)[0]  # the object as it is before an edit
    site = replace(SITE, executors=executors, hosts=hosts)
    queries = {**objects.queries, key.full_name: None} | before.queries
    built = build(objects, site=site, in_force=partial(_sink, queries, site))
    complaints = [
        f for f in (*findings, *built.findings) if f.object == key and f.reason != "ReferenceNotFound"
    ]
    complaint = "; ".join(f.message for f in complaints if not f.path.startswith("spec.matrix"))
    return (
        AdmissionAnswer(complaint) if complaint else AdmissionAnswer("", _warnings(key, objects, built, site))
    )


def _warnings(key: Key, objects: Objects, built: Built, site: Site) -> tuple[str, ...]:
    """A line each, as many as the API server passes on."""
    _, doubtful = isolated(key, lambda: (None, doubts_about(key, objects, built.groups, site)), None)
    lines: list[str] = []
    left = WARNINGS
    for line in (" ".join(finding.message.split()) for finding in doubtful):
        left -= len(line)
        if left < 0:
            return (*lines, "there are more: `weir plan` tells them all")
        lines.append(line)
    return tuple(lines)


def _sink(queries: Mapping[str, StreamQuery | None], site: Site, name: str) -> FilesPlace | None:
    """Where a query's files sink is before what is checked: who has a place keeps it."""
    query = queries.get(name)
    files = query.spec.sink.files if query else None
    return site.place(files.location, query.metadata.namespace) if query and files else None
