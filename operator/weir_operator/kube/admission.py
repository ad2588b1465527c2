"""The optional validating webhook: errors across objects, reported on apply, worded as on the command line.

A missing reference is no error here: the object that it names may be applied next.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
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
from weir_operator.manifests.objects import from_raw
from weir_operator.manifests.parse import key_of
from weir_operator.manifests.problem import build
from weir_operator.manifests.site import FilesPlace, Site

FRESH_SECONDS = 5.0  # for a batch of objects that is applied together the API server is read once
MOUNTED = Path("/etc/weir/webhook")
"""Where the chart mounts the certificate's Secret (tls.crt, tls.key), or an empty folder in memory in which
the operator makes its own."""
NAMESPACED = ("Stream", "StreamQuery", "InputProfile", "ResourceQuota", "LimitRange")
CLUSTER_WIDE = ("Node", "PlacementPolicy", "NetworkTopology")


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

    def complaint(self, manifest: Mapping[str, Any]) -> str:
        """What is wrong with the object; empty when it may come in, or when the cluster cannot be read."""
        try:
            others = self._others()
        except ApiError:
            return ""
        return complaint(manifest, others, self._executors, self._hosts)

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


def complaint(
    manifest: Mapping[str, Any], others: list[Manifest], executors: bool = True, hosts: bool = False
) -> str:
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
    return "; ".join(f.message for f in complaints if not f.path.startswith("spec.matrix"))


def _sink(queries: Mapping[str, StreamQuery | None], site: Site, name: str) -> FilesPlace | None:
    """Where a query's files sink is before what is checked: who has a place keeps it."""
    query = queries.get(name)
    files = query.spec.sink.files if query else None
    return site.place(files.location, query.metadata.namespace) if query and files else None
