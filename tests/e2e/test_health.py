"""What tools that apply manifests see: health by kstatus and by the Lua, and no fight over fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.kubectl import apply, condition, get, kubectl, wait_until
from tests.e2e.verdicts import assert_agree, verdicts


def stream(namespace: str) -> dict[str, Any]:
    spec = {
        "schema": "k BIGINT, v DOUBLE, ts TIMESTAMP",
        "eventTime": {"column": "ts", "watermark": "1s"},
        "source": {"rate": {"rowsPerSecond": 10}},
        "origin": {"zone": "newyork"},
        "rate": 10,
        "tupleBytes": 24,
    }
    return {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "Stream",
        "metadata": {"name": "numbers", "namespace": namespace},
        "spec": spec,
    }


def query(namespace: str, name: str, sql: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "StreamQuery",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"sql": sql, "sink": {"noop": {}}, **more},
    }


def test_kstatus_and_lua_agree_on_live_objects(namespace: str, kstatus: Path) -> None:
    good = "SELECT n.k, n.v FROM numbers n WHERE n.v > 1"
    apply(
        [
            query(namespace, "early", good.replace("numbers", "later")),
            query(namespace, "wrong", good.replace("n.v > 1", "n.w > 1")),
            query(namespace, "asleep", good, suspend=True),
            stream(namespace),
        ]
    )

    def seen() -> bool:
        queries = get("streamqueries", "-n", namespace)
        return all(q.get("status", {}).get("observedGeneration") == 1 for q in queries)

    wait_until(60, "every query was seen", seen)
    computed = verdicts(kstatus, "streamqueries", "-n", namespace)
    assert computed["StreamQuery/early"][0] == "InProgress"  # a reference that may still come
    assert computed["StreamQuery/wrong"][0] == "Failed"
    assert computed["StreamQuery/asleep"][0] == "Current"
    assert_agree(computed)
    assert "n.w" in condition(computed["StreamQuery/wrong"][2], "Stalled")["message"]


def test_applying_twice_and_in_reverse_order_changes_nothing(namespace: str) -> None:
    objects = [stream(namespace), query(namespace, "asleep", "SELECT n.k FROM numbers n", suspend=True)]
    apply(objects)
    wait_until(60, "seen", lambda: condition(get("streamquery", "asleep", "-n", namespace)[0], "Ready"))

    def generations() -> list[tuple[str, int]]:
        return [(o["metadata"]["name"], o["metadata"]["generation"]) for o in get("wst,wsq", "-n", namespace)]

    before = generations()
    apply(objects[::-1])
    apply(objects)
    assert generations() == before
    (asleep,) = get("streamquery", "asleep", "-n", namespace)
    assert "finalizers" not in asleep["metadata"]
    managed = json.loads(
        kubectl("get", "wsq", "asleep", "-n", namespace, "-o", "json", "--show-managed-fields")
    )["metadata"]["managedFields"]
    operators = [m for m in managed if m["manager"] == "weir"]
    assert operators
    assert all(m.get("subresource") == "status" for m in operators)
