"""Bad manifests are refused with the path of the field, and a running cluster does not notice them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e import flights, operators
from tests.e2e.conftest import (
    OPERATOR_NAMESPACE,
    RELEASE,
    WEIR,
    claim_of,
    ensure_installed,
    fresh_namespace,
    install,
)
from tests.e2e.kubectl import (
    Manifest,
    apply,
    condition,
    finished,
    get,
    kubectl,
    refusal,
    run,
    wait_until,
)
from tests.e2e.test_rights import granted, listed

APPLY = ("kubectl", "apply", "--server-side", "-f", "-")

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
    copied = copy.deepcopy(manifest)
    *parents, last = path.split(".")
    place: Any = copied["spec"]
    for parent in parents:
        place = place[int(parent)] if isinstance(place, list) else place.setdefault(parent, {})
    if isinstance(place, list):
        place[int(last)] = value
    elif value is None:
        del place[last]
    else:
        place[last] = value
    return copied


REFUSED = {
    "a schema of a wrong type": (changed(STREAM, "schema", 5), "spec.schema"),
    "no schema": (changed(STREAM, "schema", None), "spec.schema"),
    "two sources": (changed(STREAM, "source.files", {"uri": "in"}), "spec.source"),
    "a path that leaves the root": (
        changed(STREAM, "source", {"files": {"uri": "../x"}}),
        "spec.source.files",
    ),
    "another kind of store": (changed(QUERY, "sink", {"files": {"uri": "gs://b/x"}}), "spec.sink.files"),
    "a bucket without a path": (changed(QUERY, "sink", {"files": {"uri": "s3://b"}}), "spec.sink.files"),
    "flows that are no URI": (changed(POLICY, "exchange", {"files": {"uri": "out"}}), "spec.exchange.files"),
    "keys without a store": (changed(POLICY, "exchange", {"files": {"s3": {}}}), "spec.exchange.files"),
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
    "an unknown stream": (
        changed(QUERY, "sql", "SELECT b.x FROM b"),
        "spec.sql: line 1, column 17: no stream b",
    ),
    "an unknown column": (
        changed(QUERY, "sql", "SELECT a.z FROM a"),
        "spec.sql: line 1, column 8: there is no column a.z",
    ),
    "a function that could run code": (
        changed(QUERY, "sql", "SELECT reflect('a', 'b') AS r FROM a"),
        "spec.sql: line 1, column 8: the function reflect is not supported",
    ),
    "no SQL at all": (
        changed(QUERY, "sql", "SELEC a.x FRM a"),
        "spec.sql: line 1, column 1: SELEC is not supported; did you mean SELECT?",
    ),
    "a folder that is not the namespace's": (
        changed(QUERY, "sink", {"files": {"uri": "/tmp/x"}}),
        'spec.sink.files.uri: "/tmp/x" is not below',
    ),
    "a store without keys": (
        changed(QUERY, "sink", {"files": {"uri": "s3://b/x"}}),
        "spec.sink.files.s3.secretRef: pods have no keys for an object store",
    ),
    "a zone that no node is in": (
        changed(QUERY, "deliverTo", {"zone": "atlantis"}),
        "spec.deliverTo.zone: no node in zone atlantis",
    ),
}
MAY_COME = ("an unknown stream", "a zone that no node is in")  # what is named may be there in a minute
OF_THE_CLUSTER = ("a folder that is not the namespace's", "a store without keys")  # elsewhere they are good


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
    refusal_text = refusal(*APPLY, "-n", steady, stdin=json.dumps(named(manifest, "bad")))
    assert path in refusal_text


@pytest.mark.parametrize("what", STALLED)
def test_the_operator_says_what_is_wrong(what: str, steady: str) -> None:
    manifest, begin = STALLED[what]
    bad = _in(named(manifest, "bad"), steady)
    apply([bad])
    kind = "Reconciling" if what in MAY_COME else "Stalled"

    def refused() -> tuple[Manifest, Manifest] | None:
        (query,) = get("streamquery", "bad", "-n", steady)
        ready, why = condition(query, "Ready"), condition(query, kind)
        return (ready, why) if (ready.get("status"), why.get("status")) == ("False", "True") else None

    try:
        ready, why = wait_until(60, f"{what}: {kind}, and not Ready", refused)
        assert ready["message"] == why["message"]
        assert ready["message"].startswith(begin)
        assert ready["reason"] == ("ReferenceNotFound" if what in MAY_COME else "Invalid")
        if what not in OF_THE_CLUSTER:
            assert_command_line_says(ready["message"], bad, steady)
        assert not get("pods", "-n", steady, "-l", "weir.dev/query=bad")
    finally:
        kubectl("delete", "wsq", "bad", "-n", steady)


def assert_command_line_says(message: str, manifest: Manifest, namespace: str) -> None:
    """`weir plan` refuses the manifest, beside the stream and the nodes of the cluster, in the same words;
    where the operator names a place in the SQL, it names that place in the file."""
    items = [*get("nodes"), _in(STREAM, namespace), manifest]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    about = f"StreamQuery {namespace}/bad: "
    expected = f"{about}{message}\n"
    if in_sql := re.fullmatch(r"spec\.sql: line 1, column (\d+): (.*)", message, re.S):
        column = text.index(manifest["spec"]["sql"]) + int(in_sql[1])
        expected = f"<stdin>:1:{column}: {about}spec.sql: {in_sql[2]}\n"
    assert expected in refusal(WEIR, "plan", "-f", "-", stdin=text)


@pytest.fixture(scope="module")
def confined(steady: str) -> Iterator[str]:
    """That namespace, the only one that the operator watches, with the validating webhook before it."""
    install("webhook.enabled=true", f"watchNamespaces={{{steady}}}")
    yield steady
    install()


def test_the_webhook_refuses_at_once_what_would_be_told_later(confined: str) -> None:
    wrong = _in(named(STALLED["an unknown column"][0], "bad"), confined)
    tried = (*APPLY, "--dry-run=server")
    # while no replica answers yet, everything may come in
    wait_until(60, "the webhook", lambda: finished(*tried, stdin=json.dumps(wrong)).returncode)
    for what, (manifest, begin) in STALLED.items():
        text = json.dumps(_in(named(manifest, "bad"), confined))
        if what in MAY_COME:
            run(*tried, stdin=text)
        else:
            refusal_text = refusal(*tried, stdin=text)
            assert f'admission webhook "check.weir.dev" denied the request: {begin}' in refusal_text
    run(*tried, stdin=json.dumps(_in(wrong, "default")))  # not watched


def test_watched_namespaces_are_all_that_the_operator_may_write_to(confined: str) -> None:
    account = f"system:serviceaccount:{OPERATOR_NAMESPACE}:{RELEASE}"
    assert granted(account, confined) == listed("cluster", "webhook", "namespace")
    assert granted(account, OPERATOR_NAMESPACE) == listed("cluster", "webhook", "namespace", "own")
    assert granted(account, "default") == listed("cluster", "webhook")
    wait_until(60, "a replica leads", lambda: operators.leader() in operators.replicas())


def named(manifest: Manifest, name: str) -> Manifest:
    return manifest | {"metadata": manifest["metadata"] | {"name": name}}


def _in(manifest: Manifest, namespace: str) -> Manifest:
    return manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}}
