"""Metrics scraped from each fragment directly."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Mapping

from weir_operator.controller.exposition import parse_metrics
from weir_operator.controller.observed_state import FragmentMetrics, Process, measurable
from weir_operator.local.processes import Processes

TIMEOUT = 1.0
"""[s] after which a fragment is left out of the round."""


class Scrape:
    """MetricsPort over HTTP on this machine."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        """The last reading of each fragment's process."""
        readings = {}
        for process in measurable(processes):
            port = self._processes.port_of(process.fragment, process.epoch)
            if port is None:
                continue
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT) as answer:
                    text = answer.read().decode()
            except OSError:
                continue
            readings[process.fragment] = parse_metrics(text, process.fragment, process.epoch, time.time())
        return readings
