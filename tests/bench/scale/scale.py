"""`make scale`: the operator beside 1,000 nodes, 1,000 queries and 10,000 foreign pods, simulated.

kwok stands in for the kubelets, and a thread here for the drivers: it takes each lease as a driver would.
The API server, etcd, the scheduler and the controller manager are real ones, and so is the operator.
The exit code is 1 when a figure exceeds its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families
from weir_operator.controller.times import micro_time
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError, connect

from tests.bench.scale.objects import (
    CLAIM,
    POLICY,
    STREAMS,
    VOLUME,
    Manifest,
    foreign_pod,
    node,
    query,
    stream,
)

REPOSITORY = Path(__file__).resolve().parents[3]
CACHE = Path(os.environ.get("WEIR_CACHE", Path.home() / ".cache" / "weir"))
CLUSTER = "weir-scale"
METRICS = 18080
WRITES = ("POST", "PUT", "PATCH", "DELETE", "APPLY")
NOT_OURS = ("leases", "nodes")  # kwok keeps nodes alive; leases are what may be written while idle
RECONCILE = "full reconcile [s]"
IDLE_WRITES = "writes while idle but Leases"
PEAK = "operator's largest memory, planning all [MB]"
PEAK_AGAIN = "operator's largest memory, started again [MB]"
LIMITS = {RECONCILE: 10.0, PEAK: 500.0, PEAK_AGAIN: 500.0, IDLE_WRITES: 0.0}


def kwokctl(*arguments: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{CACHE}/bin:{os.environ['PATH']}",
        "KWOK_WORKDIR": str(CACHE / "kwok"),
    }
    subprocess.run(
        [str(CACHE / "bin" / "kwokctl"), *arguments, "--name", CLUSTER], check=True, env=environment
    )


@contextmanager
def simulated() -> Iterator[Api]:
    """A control plane as processes of this machine; gone afterwards."""
    kubeconfig = os.environ["KUBECONFIG"]  # the client reads it when it is imported
    kube, programs = str(CACHE / "bin" / "kube"), ("apiserver", "controller-manager", "scheduler")
    binaries = [f"--kube-{name}-binary={kube}" for name in programs]
    binaries += [f"--etcd-binary={CACHE}/bin/etcd", f"--kwok-controller-binary={CACHE}/bin/kwok"]
    kwokctl("delete", "cluster")  # of a run that was killed
    kwokctl("create", "cluster", "--runtime=binary", f"--kubeconfig={kubeconfig}", "--wait=120s", *binaries)
    try:
        yield connect()
    finally:
        kwokctl("delete", "cluster", f"--kubeconfig={kubeconfig}")


class Drivers(threading.Thread):
    """Takes the lease of every driver whose pod is ready, and ends pods that sweep. It looks rarely when
    nothing is new: real drivers list no pods, and what a list costs would be taken for the operator's."""

    def __init__(self, api: Api) -> None:
        super().__init__(daemon=True)
        self._api = api
        self._taken: set[tuple[str, int]] = set()

    def run(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            while True:
                pods = list(self._api.list("Pod", selector=names.DRIVERS))
                newly_taken = list(
                    pool.map(self._take, [p for p in pods if p["status"].get("phase") == "Running"])
                )
                for sweep in self._api.list("Pod", selector=f"{names.ROLE}=sweep"):
                    meta, succeeded = sweep["metadata"], {"status": {"phase": "Succeeded"}}
                    self._api.merge("Pod", meta["namespace"], meta["name"], succeeded, "status")
                time.sleep(1.0 if any(newly_taken) else 10.0)

    def _take(self, pod: Manifest) -> bool:
        """Whether its lease had not been taken yet."""
        labels = pod["metadata"]["labels"]
        key = (labels[names.FRAGMENT], int(labels[names.EPOCH]))
        if key in self._taken:
            return False
        spec = {
            "holderIdentity": pod["metadata"]["name"],
            "leaseTransitions": key[1],
            "leaseDurationSeconds": 36_000,
            "renewTime": micro_time(time.time()),
            "acquireTime": micro_time(time.time()),
        }
        self._api.merge("Lease", pod["metadata"]["namespace"], key[0], {"spec": spec})
        self._taken.add(key)
        return True


class Operator:
    """The operator as a process, and its metrics."""

    def __init__(self) -> None:
        settings = {"WEIR_METRICS_PORT": str(METRICS), "POD_NAMESPACE": "default", "POD_NAME": "scale"}
        settings |= {"MALLOC_ARENA_MAX": "2"}  # as its image has it
        weir = str(Path(sys.executable).with_name("weir"))
        with open(REPOSITORY / "out" / "scale-operator.log", "a") as log:
            self.process = subprocess.Popen([weir, "operator"], env={**os.environ, **settings}, stderr=log)

    def number(self, name: str) -> float:
        """One of its metrics; NaN while it does not answer."""
        return next(iter(self.numbers(name).values()), float("nan"))

    def numbers(self, name: str) -> dict[str, float]:
        """A metric's values, by those of its labels; none while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://localhost:{METRICS}/metrics", timeout=30) as answer:
                text = answer.read().decode()
        except OSError:
            return {}
        samples = (s for f in text_string_to_metric_families(text) for s in f.samples if s.name == name)
        return {" ".join(sample.labels.values()): sample.value for sample in samples}

    def parts(self, of: str) -> dict[str, float]:
        """What each part of the last round took."""
        parts = self.numbers("weir_operator_round_part_seconds")
        return {f"{of}, {part} [s]": seconds for part, seconds in parts.items()}

    def peak(self) -> float:
        """The largest resident set that it ever had [MB]; it is one process."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return 1.024e-3 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def writes(api: Api, leases: bool = False) -> dict[str, float]:
    """Requests that write, by resource, since the API server began."""
    text = api.text("/metrics")
    counts: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("apiserver_request_total{"):
            continue
        (family,) = text_string_to_metric_families(line + "\n")
        sample = family.samples[0]
        resource = sample.labels["resource"]
        if sample.labels["verb"] in WRITES and (leases or resource not in NOT_OURS):
            counts[resource] = counts.get(resource, 0.0) + sample.value
    return counts


def wait(what: str, seconds: float, holds: Callable[[], bool]) -> float:
    """Seconds until it holds."""
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            raise SystemExit(f"timed out after {seconds:.0f} s: {what}")
        time.sleep(1.0)
    return time.monotonic() - begin


def ready(api: Api) -> int:
    """Queries that are Ready."""
    return sum(
        any(c["type"] == "Ready" and c["status"] == "True" for c in q.get("status", {}).get("conditions", []))
        for q in api.list("StreamQuery")
    )


def measure(api: Api, nodes: int, queries: int, pods: int, idle: float) -> dict[str, float]:
    """Fills the cluster, runs the operator, and takes the figures."""
    with ThreadPoolExecutor(16) as pool:
        for file in sorted((REPOSITORY / "crds").glob("*.yaml")):
            api.create({**yaml.safe_load(file.read_text())})
        wait("the kinds are served", 60, lambda: _served(api))
        list(pool.map(api.create, map(node, range(nodes))))
        list(pool.map(api.create, (foreign_pod(i, nodes) for i in range(pods))))
        api.create(POLICY)
        api.create(VOLUME)
        api.create(CLAIM)
        list(pool.map(api.create, map(stream, range(STREAMS))))
        list(pool.map(api.create, map(query, range(queries))))
    figures: dict[str, float] = {}
    Drivers(api).start()
    operator = Operator()
    try:
        before = sum(writes(api).values())
        figures["seconds until all are Ready"] = wait(
            "every query Ready", 1800, lambda: ready(api) == queries
        )
        count = sum(writes(api).values()) - before
        figures["API writes a second meanwhile"] = count / figures["seconds until all are Ready"]
        figures[PEAK] = operator.peak()
        operator.kill()
        operator = Operator()
        wait("a round of the new operator", 300, lambda: operator.number("weir_operator_round_seconds") > 0)
        figures |= {RECONCILE: operator.number("weir_operator_round_seconds"), **operator.parts("of it")}
        time.sleep(30)
        before_idle = writes(api)
        time.sleep(idle)
        after = writes(api)
        changed = {k: v - before_idle.get(k, 0) for k, v in after.items() if v != before_idle.get(k, 0)}
        print("writes while idle, by resource:", json.dumps(changed))
        figures[IDLE_WRITES] = sum(changed.values())
        figures["round at rest [s]"] = operator.number("weir_operator_round_seconds")
        figures |= operator.parts("round at rest")
        figures["event loop lag, largest [s]"] = operator.number("weir_operator_event_loop_lag_seconds")
        figures[PEAK_AGAIN] = operator.peak()
    finally:
        operator.kill()
    return figures


def crossed(measured: Mapping[str, float]) -> list[str]:
    """What exceeds its limit or was not measured (NaN meets no limit)."""
    figures = {name: measured.get(name, float("nan")) for name in LIMITS}
    return [
        f"over the limit: {name} is {figures[name]:.3g}, at most {most:g}"
        for name, most in LIMITS.items()
        if not figures[name] <= most
    ]


def _served(api: Api) -> bool:
    try:
        list(api.list("StreamQuery"))
    except ApiError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--idle", type=float, default=300.0, help="seconds to watch the idle operator")
    arguments = parser.parse_args()
    (REPOSITORY / "out").mkdir(exist_ok=True)
    with simulated() as api:
        figures = measure(api, arguments.nodes, arguments.queries, arguments.pods, arguments.idle)
    for name, value in figures.items():
        print(f"{name}: {value:.3g}")
    if over := crossed(figures):
        raise SystemExit("\n".join(over))


if __name__ == "__main__":
    main()
