"""The controller's loop over the Kubernetes ports."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from weir_placement.fragments import Knobs, Layout

from weir_operator.controller.clock_watch import ClockWatch
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.loop import Loop
from weir_operator.controller.settings import Settings as LoopSettings
from weir_operator.kube.api import WRITES_AT_A_TIME
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.driver_pod import DATA_PATH, SITE
from weir_operator.kube.metrics import DirectScrape, Prometheus
from weir_operator.kube.settings import OperatorSettings

LAYOUT = Layout(root=DATA_PATH, lease="kubernetes:{namespace}/{fragment}", state="/tmp/weir-state.json")


class NothingToSweep:
    """The exchange port: in a cluster the cluster port's sweeper removes files, where volumes are mounted."""

    def sweep(self, keep: frozenset[str]) -> None:
        """Nothing."""


def build_loop(
    cluster: KubernetesCluster,
    settings: OperatorSettings,
    leads: Callable[[], bool],
    alive: Callable[[], None] = lambda: None,
) -> Loop:
    """The loop, ready for its first round; it writes while this replica `leads`, and calls `alive` while a
    round goes on."""
    metrics = (
        Prometheus(settings.prometheus_url)
        if settings.prometheus_url
        else DirectScrape(lambda: cluster.addresses)
    )
    return Loop(
        cluster=cluster,
        metrics=metrics,
        exchange=NothingToSweep(),
        desired_state=DesiredStateBuilder(
            cluster.matrices.readers,
            knobs=Knobs(trigger_ms=settings.trigger_ms, lease_seconds=float(settings.lease_seconds)),
            executors=True,
            site=replace(SITE, executors=settings.executors, hosts=settings.hosts),
        ),
        settings=LoopSettings(layout=LAYOUT, image=settings.runtime_image, alive=alive),
        clock=time.time,
        clock_watch=ClockWatch(time.monotonic),
        pool=ThreadPoolExecutor(WRITES_AT_A_TIME, thread_name_prefix="write"),
        leads=leads,
    )
