"""`weir operator`: the loop on Kubernetes."""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import kopf
from prometheus_client import CollectorRegistry, Gauge

from weir_operator.kube.admission import MOUNTED, Admission, webhook_server
from weir_operator.kube.api import Api, ApiError, connect
from weir_operator.kube.certificate import OwnCertificate, end_of
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.handlers import registry
from weir_operator.kube.leader import Leader
from weir_operator.kube.liveness import Liveness
from weir_operator.kube.loop import build_loop
from weir_operator.kube.rehearsal import rehearse
from weir_operator.kube.runner import Runner
from weir_operator.kube.self_metrics import ClusterCollector
from weir_operator.kube.server import serve
from weir_operator.kube.settings import OperatorSettings

YOUNG = 50_000
"""Allocations before Python looks for cycles among the newest objects: a round reads and drops millions that
have none, and with Python's default of 700 a third of the time to read them is spent on looking."""


def cluster_uid(api: Api) -> str:
    """Of the cluster for as long as it lives: it has no name of its own. Raises ApiError."""
    namespace = api.get("Namespace", "", "kube-system")
    if namespace is None:
        raise ApiError(404, "namespace kube-system does not exist; set the chart's value `installation`")
    return str(namespace["metadata"]["uid"])


def own_certificate(api: Api, settings: OperatorSettings, stop: threading.Event) -> OwnCertificate | None:
    """The webhook's certificate, renewed until `stop`; None where it is mounted. Raises OSError."""
    if not settings.webhook_configuration:
        return None
    own = OwnCertificate(
        api, settings.webhook_configuration, settings.webhook_host, settings.identity, MOUNTED
    )
    own.begin()
    threading.Thread(target=own.look_on, args=(stop,), name="certificate", daemon=True).start()
    return own


def tell_end(metrics: CollectorRegistry, certificate: Path) -> None:
    """When the webhook's certificate ends: were it not renewed, nothing would be refused, in silence."""
    gauge = Gauge(
        "weir_operator_webhook_certificate_end_seconds",
        "When the webhook's certificate ends, in seconds since 1970.",
        registry=metrics,
    )
    gauge.set_function(lambda: end_of(certificate))


def run(settings: OperatorSettings, context: str | None = None) -> None:
    """Run until told to stop. A replica that loses the lead ends itself: its pod starts it afresh."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("kopf").setLevel(logging.WARNING)
    gc.set_threshold(YOUNG)
    api = connect(context)
    settings = replace(settings, installation=settings.installation or cluster_uid(api))
    cluster = KubernetesCluster(api, settings)
    liveness = Liveness()
    metrics = CollectorRegistry()
    leader = Leader(api, settings.namespace, settings.identity, operator_class=settings.operator_class)
    loop = build_loop(cluster, settings, leader.leads, liveness.round_ended)
    rehearse(loop.settings)
    runner = Runner(loop, leader, liveness, lost=lambda: os.kill(os.getpid(), signal.SIGTERM))
    metrics.register(ClusterCollector(cluster, loop, liveness, leader, api))
    admission = Admission(api, settings) if settings.webhook_port else None
    stop = threading.Event()
    webhook = (
        webhook_server(settings.webhook_port, own_certificate(api, settings, stop)) if admission else None
    )
    if webhook:
        tell_end(metrics, Path(str(webhook.certfile)))
    server = serve(settings.metrics_port, liveness, metrics)
    try:
        kopf.run(
            registry=registry(
                runner, liveness, admission, webhook, not settings.watch_namespaces, settings.hosts
            ),
            identity=settings.identity,  # type: ignore[arg-type]  # a NewType that kopf does not export
            standalone=True,
            clusterwide=not settings.watch_namespaces,
            namespaces=(*settings.watch_namespaces, settings.namespace) if settings.watch_namespaces else (),
        )
    finally:
        stop.set()
        runner.stop()  # again: kopf does not clean up when it is told to stop while it starts
        server.shutdown()
