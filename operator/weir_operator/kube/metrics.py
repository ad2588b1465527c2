"""The metrics port on Kubernetes: each driver asked directly, or Prometheus for all at once."""

from __future__ import annotations

import http.client
import logging
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException

from weir_operator.controller.exposition import parse_metrics
from weir_operator.controller.observed_state import FragmentMetrics, Process, measurable

log = logging.getLogger("weir")
MOST_PARTS = 256  # of 64 KiB at most
TIMEOUT = 2.0  # [s] of one driver, or of Prometheus
WAIT = 5  # [s] for Prometheus, whose queries have TIMEOUT as their limit
PATIENCE = (
    10.0  # [s] for all drivers together: a part of the cluster that is cut off must not hold up the rest
)
EVERYTHING = '{__name__=~"weir_.+", fragment!=""}'
SCRAPED = "timestamp(weir_epoch)"
Addresses = Callable[[], Mapping[tuple[str, int], str]]
MetricSample = Mapping[str, Any]


class DirectScrape:
    """Scrapes every running driver; those that do not answer in time are left out of this round."""

    def __init__(self, addresses: Addresses, threads: int = 16, patience: float = PATIENCE) -> None:
        self._addresses = addresses
        self._patience = patience
        self._silent: frozenset[str] = frozenset()  # those that did not answer last time are scraped last
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="scrape")

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        """The last reading of each fragment's process."""
        addresses = self._addresses()
        running = [p for p in measurable(processes) if (p.fragment, p.epoch) in addresses]
        running.sort(key=lambda p: p.fragment in self._silent)
        scrapes = [self._pool.submit(self._one, p, addresses[p.fragment, p.epoch]) for p in running]
        complete, late = wait(scrapes, self._patience)
        for scrape in late:
            scrape.cancel()
        readings = {
            r.fragment: r for scrape in scrapes if scrape in complete and (r := scrape.result()) is not None
        }
        self._silent = frozenset(p.fragment for p in running) - readings.keys()
        return readings

    def _one(self, process: Process, address: str) -> FragmentMetrics | None:
        try:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=TIMEOUT) as answer:
                text = _read(answer).decode()
            return parse_metrics(text, process.fragment, process.epoch, time.time())
        except (OSError, ValueError) as error:
            log.debug("%s: metrics cannot be read: %s", process.fragment, error)
        return None


def _read(answer: http.client.HTTPResponse) -> bytes:
    """The whole answer, unless it is too long or too slow to be a driver's: one must not hold up all."""
    deadline = time.monotonic() + TIMEOUT
    parts: list[bytes] = []
    while part := answer.read1(1 << 16):
        parts.append(part)
        if time.monotonic() > deadline or len(parts) > MOST_PARTS:
            raise ValueError(
                f"the answer has not ended after {len(parts)} parts of at most 64 KiB (at most {MOST_PARTS}) "
                f"or within {TIMEOUT:g} s"
            )
    return b"".join(parts)


class Prometheus:
    """Two queries for all fragments: their samples, and when each was scraped (a sample itself carries the
    time of the query, and rates over that would be wrong by a whole scrape interval)."""

    def __init__(self, url: str) -> None:
        self._server = PrometheusConnect(url=url, disable_ssl=True, retry=None, timeout=WAIT)

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        """The last reading of each fragment's process; none when Prometheus does not answer."""
        try:
            samples = self._server.custom_query(EVERYTHING, params={"timeout": f"{TIMEOUT:g}s"})
            scrapes = self._server.custom_query(SCRAPED, params={"timeout": f"{TIMEOUT:g}s"})
            return _parsed(samples, scrapes, processes)
        except (PrometheusApiClientException, requests.RequestException, ValueError, LookupError) as error:
            log.warning("no measurements in this round: Prometheus cannot be read: %s", error)
            return {}


def _parsed(
    samples: list[MetricSample], scrapes: list[MetricSample], processes: tuple[Process, ...]
) -> Mapping[str, FragmentMetrics]:
    lines: dict[tuple[str, int], list[str]] = defaultdict(list)
    epochs = {_source(s): int(float(s["value"][1])) for s in samples if _name(s) == "weir_epoch"}
    scrape_times = {_instance(s): float(s["value"][1]) for s in scrapes}
    times: dict[tuple[str, int], float] = {}
    for sample in samples:
        epoch = epochs.get(_source(sample))
        if epoch is None or _instance(sample) not in scrape_times:
            continue
        key = (sample["metric"]["fragment"], epoch)
        labels = {k: v for k, v in sample["metric"].items() if k in ("query", "fragment", "operator")}
        text = ",".join(f'{k}="{v}"' for k, v in labels.items())
        lines[key].append(f"{_name(sample)}{{{text}}} {sample['value'][1]}\n")
        times[key] = scrape_times[_instance(sample)]
    return {
        p.fragment: parse_metrics("".join(lines[key]), p.fragment, p.epoch, times[key])
        for p in measurable(processes)
        if (key := (p.fragment, p.epoch)) in lines
    }


def _name(sample: MetricSample) -> str:
    return str(sample["metric"]["__name__"])


def _source(sample: MetricSample) -> tuple[str, str]:
    """Whose it is: an instance may be a host of several fragments."""
    return _instance(sample), str(sample["metric"].get("fragment", ""))


def _instance(sample: MetricSample) -> str:
    return str(sample["metric"].get("instance", ""))
