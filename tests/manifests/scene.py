"""A few nodes, streams and policies as raw objects, to change in tests."""

from typing import Any

from weir_operator.manifests.objects import from_raw
from weir_operator.manifests.problem import Built, build


def obj(
    kind: str, name: str, spec: dict[str, Any] | None = None, namespace: str = "default"
) -> dict[str, Any]:
    return {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec or {},
    }


def node(name: str, zone: str = "", cpu: str = "4", **spec: Any) -> dict[str, Any]:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi"}},
    }


def stream(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    base = {"schema": "x INT, y INT, ts TIMESTAMP", "eventTime": {"column": "ts", "watermark": "1s"}}
    return obj("Stream", name, base | spec, namespace)


def graph(name: str, *operators: dict[str, Any], namespace: str = "default", **spec: Any) -> dict[str, Any]:
    return obj("StreamQuery", name, {"operators": list(operators), **spec}, namespace)


FILTER = {"id": "f", "kind": "filter", "inputs": ["a"], "predicate": "a.x = 0"}
JOIN = {"id": "j", "kind": "join", "inputs": ["a", "b"], "on": "a.y = b.y", "window": "5s"}
NODES = [node("n1", "east"), node("n2", "west")]
STREAMS = [stream("a"), stream("b")]


def built(*raw: dict[str, Any], **options: Any) -> Built:
    objects, findings = from_raw(raw)
    assert findings == [], [str(f) for f in findings]
    return build(objects, **options)


def messages(*raw: dict[str, Any]) -> list[str]:
    return [f"{finding.object}: {finding.message}" for finding in built(*raw).findings]
