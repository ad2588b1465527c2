"""Bad manifests are refused with the path of the field, and a running cluster does not notice them."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e import flights
from tests.e2e.conftest import claim_of, ensure_installed, fresh_namespace
from tests.e2e.kubectl import ENVIRONMENT, Manifest, apply, condition, get, kubectl, wait_until

STREAM: Manifest = {
    "apiVersion": "weir.dev/v1alpha1",
    "kind": "Stream",
    "metadata": {"name": "a"},
    "spec": {
        "schema": "x BIGINT, y DOUBLE, ts TIMESTAMP",
        "eventTime": {"column": "ts", "watermark": "1s"},
        "source": {"rate": {"rowsPerSecond": 10}},
        "origin": {"zone": "newyork"},
        "rate": 10,
    },
}
QUERY: Manifest = {
    "apiVersion": "weir.dev/v1alpha1",
    "kind": "StreamQuery",
    "metadata": {"name": "q"},
    "spec": {"sql": "SELECT a.x, a.y FROM a WHERE a.x > 1", "sink": {"noop": {}}},
}
GRAPH: Manifest = {
    "apiVersion": "weir.dev/v1alpha1",
    "kind": "StreamQuery",
    "metadata": {"name": "q"},
    "spec": {
        "operators": [{"id": "f", "kind": "filter", "inputs": ["a"], "predicate": "a.x = 0"}],
        "sink": {"noop": {}},
    },
}
POLICY: Manifest = {
    "apiVersion": "weir.dev/v1alpha1",
    "kind": "PlacementPolicy",
    "metadata": {"name": "bad"},
    "spec": {},
}


def changed(manifest: Manifest, path: str, value: Any) -> Manifest:
    """A copy with the value at `spec.path`; None takes the field away."""
    found = copy.deepcopy(manifest)
    *parents, last = path.split(".")
    place: Any = found["spec"]
    for parent in parents:
        place = place[int(parent)] if isinstance(place, list) else place.setdefault(parent, {})
    if isinstance(place, list):
        place[int(last)] = value
    elif value is None:
        del place[last]
    else:
        place[last] = value
    return found


REFUSED = {
    "a schema of a wrong type": (changed(STREAM, "schema", 5), "spec.schema"),
    "no schema": (changed(STREAM, "schema", None), "spec.schema"),
    "two sources": (changed(STREAM, "source.files", {"uri": "in"}), "spec.source"),
    "a path that leaves the root": (
        changed(STREAM, "source", {"files": {"uri": "../x"}}),
        "spec.source.files",
    ),
    "an object store": (changed(QUERY, "sink", {"files": {"uri": "s3://b/x"}}), "spec.sink.files"),
    "checkpoints elsewhere": (
        changed(POLICY, "exchange", {"checkpoints": {"uri": "x"}}),
        "spec.exchange",
    ),
    "an unknown format": (
        changed(STREAM, "source", {"kafka": {"bootstrapServers": "k:1", "topic": "t", "format": "xml"}}),
        "spec.source.kafka.format",
    ),
    "a topic with a space": (
        changed(STREAM, "source", {"kafka": {"bootstrapServers": "k:1", "topic": "a b"}}),
        "spec.source.kafka.topic",
    ),
    "a watermark without a unit": (changed(STREAM, "eventTime.watermark", "ten"), "spec.eventTime.watermark"),
    "two sinks": (changed(QUERY, "sink.console", {}), "spec.sink"),
    "neither sql nor operators": (changed(QUERY, "sql", None), "spec"),
    "both sql and operators": (changed(GRAPH, "sql", "SELECT a.x FROM a"), "spec"),
    "an unknown kind of operator": (changed(GRAPH, "operators.0.kind", "sort"), "spec.operators[0].kind"),
    "a filter without a predicate": (changed(GRAPH, "operators.0.predicate", None), "spec.operators[0]"),
    "a join of one input": (
        changed(GRAPH, "operators.0", {"id": "j", "kind": "join", "inputs": ["a"], "window": "1s"}),
        "spec.operators[0]",
    ),
    "an unknown objective": (changed(POLICY, "objective", "speed"), "spec.objective"),
    "an unknown mode": (changed(POLICY, "mode", "Never"), "spec.mode"),
}
STALLED = {
    "an unknown stream": (changed(QUERY, "sql", "SELECT b.x FROM b"), "b"),
    "an unknown column": (changed(QUERY, "sql", "SELECT a.z FROM a"), "a.z"),
    "a function that could run code": (
        changed(QUERY, "sql", "SELECT reflect('a', 'b') AS r FROM a"),
        "reflect",
    ),
    "no SQL at all": (changed(QUERY, "sql", "SELEC a.x FRM a"), "sql"),
    "a folder that is not the namespace's": (
        changed(QUERY, "sink", {"files": {"uri": "/tmp/x"}}),
        "spec.sink.files.uri",
    ),
    "a zone that no node is in": (changed(QUERY, "deliverTo", {"zone": "atlantis"}), "atlantis"),
}


@pytest.fixture(scope="module")
def steady(release: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace in which a query runs, and goes on running in the very same pod."""
    ensure_installed()
    with fresh_namespace(request.session) as namespace:
        apply([claim_of(namespace), _in(STREAM, namespace), _in(named(QUERY, "steady"), namespace)])
        flights.wait_ready(namespace, 180, ("steady",))
        before = pods(namespace)
        yield namespace
        assert pods(namespace) == before
        flights.wait_ready(namespace, 1, ("steady",))


def pods(namespace: str) -> dict[str, tuple[str, int]]:
    """uid and restarts of each driver."""
    return {
        p["metadata"]["name"]: (p["metadata"]["uid"], flights.restarts(namespace, p["metadata"]["name"]))
        for p in flights.drivers(namespace)
    }


@pytest.mark.parametrize("what", REFUSED)
def test_the_api_server_refuses(what: str, steady: str) -> None:
    manifest, path = REFUSED[what]
    done = subprocess.run(
        ["kubectl", "apply", "--server-side", "-n", steady, "-f", "-"],
        input=json.dumps(named(manifest, "bad")), capture_output=True, text=True,
        env=ENVIRONMENT, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode != 0
    assert path in done.stderr


@pytest.mark.parametrize("what", STALLED)
def test_the_operator_says_what_is_wrong(what: str, steady: str) -> None:
    manifest, word = STALLED[what]
    apply([_in(named(manifest, "bad"), steady)])

    def refused() -> Manifest:
        query = get("streamquery", "bad", "-n", steady)[0]
        return condition(query, "Ready") if condition(query, "Ready").get("status") == "False" else {}

    try:
        assert word in wait_until(60, f"{what}: Ready is False", refused)["message"]
        assert not get("pods", "-n", steady, "-l", "weir.dev/query=bad")
    finally:
        kubectl("delete", "wsq", "bad", "-n", steady)


def named(manifest: Manifest, name: str) -> Manifest:
    return manifest | {"metadata": manifest["metadata"] | {"name": name}}


def _in(manifest: Manifest, namespace: str) -> Manifest:
    return manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}}
