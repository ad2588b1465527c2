"""What the simulated cluster holds: nodes, pods of others, streams, queries, their policy and claim."""

from __future__ import annotations

from typing import Any

ZONES = 20
STREAMS = 100
Manifest = dict[str, Any]


def node(i: int) -> Manifest:
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    zone = {"topology.kubernetes.io/zone": f"z{i % ZONES}"}
    meta = {
        "name": f"n{i}",
        "annotations": {"kwok.x-k8s.io/node": "fake"},
        "labels": {"type": "kwok", **zone},
    }
    spec = {"podCIDR": f"127.{64 + i // 256}.{i % 256}.0/24"}  # a scrape of a simulated pod stays here
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status}


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
