"""`make scale`: the operator beside 1,000 nodes, 1,000 queries and 10,000 foreign pods, simulated.

kwok stands in for the kubelets, and a thread here for the drivers: it takes each lease as a driver would.
The API server, etcd, the scheduler and the controller manager are real ones, and so is the operator.
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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families
from weir_operator.controller.times import micro_time
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError, connect

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("WEIR_CACHE", Path.home() / ".cache" / "weir"))
CLUSTER = "weir-scale"
METRICS = 18080
ZONES = 20
STREAMS = 100
WRITES = ("POST", "PUT", "PATCH", "DELETE", "APPLY")
NOT_OURS = ("leases", "nodes")  # kwok keeps nodes alive; leases are what may be written while idle
Manifest = dict[str, Any]


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


def node(i: int) -> Manifest:
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    zone = {"topology.kubernetes.io/zone": f"z{i % ZONES}"}
    meta = {
        "name": f"n{i}",
        "annotations": {"kwok.x-k8s.io/node": "fake"},
        "labels": {"type": "kwok", **zone},
    }
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}


def foreign_pod(i: int, nodes: int) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    spec = {"nodeName": f"n{i % nodes}", "containers": [container]}
    meta = {"name": f"p{i}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def stream(i: int) -> Manifest:
    spec = {
        "schema": "k BIGINT, v DOUBLE, ts TIMESTAMP",
        "eventTime": {"column": "ts", "watermark": "1s"},
        "source": {"kafka": {"bootstrapServers": "kafka:9092", "topic": f"s{i}"}},
        "origin": {"zone": f"z{i % ZONES}"},
        "rate": 100,
        "tupleBytes": 24,
    }
    meta = {"name": f"s{i}", "namespace": "default"}
    return {"apiVersion": "weir.dev/v1alpha1", "kind": "Stream", "metadata": meta, "spec": spec}


def query(i: int) -> Manifest:
    spec = {
        "sql": f"SELECT s.k, s.v FROM s{i % STREAMS} s WHERE s.v > {i}",
        "sink": {"noop": {}},
        "policy": "scale",
    }
    meta = {"name": f"q{i}", "namespace": "default"}
    return {"apiVersion": "weir.dev/v1alpha1", "kind": "StreamQuery", "metadata": meta, "spec": spec}


POLICY = {
    "apiVersion": "weir.dev/v1alpha1",
    "kind": "PlacementPolicy",
    "metadata": {"name": "scale"},
    "spec": {"strategy": {"name": "greedy"}, "overheads": {"fragmentCpu": "100m", "fragmentMemory": "700Mi"}},
}


AMOUNT = {"storage": "1Gi"}
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "exchange"},
    "spec": {
        "capacity": AMOUNT,
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "hostPath": {"path": "/tmp"},
        "claimRef": {"namespace": "default", "name": "weir-exchange"},
    },
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "weir-exchange", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "resources": {"requests": AMOUNT}},
}


class Drivers(threading.Thread):
    """Takes the lease of every driver whose pod is ready, and ends pods that sweep."""

    def __init__(self, api: Api) -> None:
        super().__init__(daemon=True)
        self._api = api
        self._taken: set[tuple[str, int]] = set()

    def run(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            while True:
                pods = list(self._api.list("Pod", selector=names.DRIVERS))
                list(pool.map(self._take, [p for p in pods if p["status"].get("phase") == "Running"]))
                for sweep in self._api.list("Pod", selector=f"{names.ROLE}=sweep"):
                    meta, done = sweep["metadata"], {"status": {"phase": "Succeeded"}}
                    self._api.merge("Pod", meta["namespace"], meta["name"], done, "status")
                time.sleep(1.0)

    def _take(self, pod: Manifest) -> None:
        labels = pod["metadata"]["labels"]
        key = (labels[names.FRAGMENT], int(labels[names.EPOCH]))
        if key in self._taken:
            return
        spec = {
            "holderIdentity": pod["metadata"]["name"],
            "leaseTransitions": key[1],
            "leaseDurationSeconds": 36_000,
            "renewTime": micro_time(time.time()),
            "acquireTime": micro_time(time.time()),
        }
        self._api.merge("Lease", pod["metadata"]["namespace"], key[0], {"spec": spec})
        self._taken.add(key)


class Operator:
    """The operator as a process, and what it says of itself."""

    def __init__(self) -> None:
        given = {"WEIR_METRICS_PORT": str(METRICS), "POD_NAMESPACE": "default", "POD_NAME": "scale"}
        weir = str(Path(sys.executable).with_name("weir"))
        with open(REPOSITORY / "out" / "scale-operator.log", "a") as log:
            self.process = subprocess.Popen([weir, "operator"], env={**os.environ, **given}, stderr=log)

    def number(self, name: str) -> float:
        """One of its metrics; NaN while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://localhost:{METRICS}/metrics", timeout=30) as answer:
                text = answer.read().decode()
        except OSError:
            return float("nan")
        found = [s.value for f in text_string_to_metric_families(text) for s in f.samples if s.name == name]
        return found[0] if found else float("nan")

    def memory(self) -> float:
        """Resident set [bytes]."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def writes(api: Api, leases: bool = False) -> dict[str, float]:
    """Requests that write, by resource, since the API server began."""
    text = api.text("/metrics")
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("apiserver_request_total{"):
            continue
        (family,) = text_string_to_metric_families(line + "\n")
        sample = family.samples[0]
        resource = sample.labels["resource"]
        if sample.labels["verb"] in WRITES and (leases or resource not in NOT_OURS):
            found[resource] = found.get(resource, 0.0) + sample.value
    return found


def wait(what: str, seconds: float, holds: Callable[[], bool]) -> float:
    """Seconds until it holds."""
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            raise SystemExit(f"not within {seconds:.0f} s: {what}")
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
    found: dict[str, float] = {}
    Drivers(api).start()
    operator = Operator()
    try:
        before = sum(writes(api).values())
        found["seconds until all are Ready"] = wait("every query Ready", 1800, lambda: ready(api) == queries)
        done = sum(writes(api).values()) - before
        found["API writes a second meanwhile"] = done / found["seconds until all are Ready"]
        operator.kill()
        operator = Operator()
        wait("a round of the new operator", 300, lambda: operator.number("weir_operator_round_seconds") > 0)
        found["full reconcile [s]"] = operator.number("weir_operator_round_seconds")
        time.sleep(30)
        before_idle = writes(api)
        time.sleep(idle)
        after = writes(api)
        changed = {k: v - before_idle.get(k, 0) for k, v in after.items() if v != before_idle.get(k, 0)}
        print("writes while idle, by resource:", json.dumps(changed))
        found["writes while idle but Leases"] = sum(changed.values())
        found["round at rest [s]"] = operator.number("weir_operator_round_seconds")
        found["event loop lag, largest [s]"] = operator.number("weir_operator_event_loop_lag_seconds")
        found["operator memory [MB]"] = operator.memory() / 1e6
    finally:
        operator.kill()
    return found


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
    given = parser.parse_args()
    (REPOSITORY / "out").mkdir(exist_ok=True)
    with simulated() as api:
        for name, value in measure(api, given.nodes, given.queries, given.pods, given.idle).items():
            print(f"{name}: {value:.3g}")


if __name__ == "__main__":
    main()
