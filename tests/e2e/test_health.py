"""Health of live objects, as kstatus itself computes it and as the shipped Lua says it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kubectl import CACHE, ENVIRONMENT, apply, condition, get, kubectl, run, wait_until
from tests.kube.test_health_lua import health

HERE = Path(__file__).resolve().parent
LUA_TO_KSTATUS = {
    "Healthy": "Current",
    "Suspended": "Current",
    "Progressing": "InProgress",
    "Degraded": "Failed",
}


@pytest.fixture(scope="module")
def kstatus() -> Path:
    """The program that computes health by kstatus's own module."""
    program = CACHE / "bin" / "kstatus"
    subprocess.run(
        ["go", "build", "-trimpath", "-o", str(program), "."],
        cwd=HERE / "kstatus", env={**ENVIRONMENT, "CGO_ENABLED": "0"}, check=True,
    )  # fmt: skip
    return program


def verdicts(kstatus: Path, *arguments: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """By name: what kstatus says, what the Lua says, and the object."""
    objects = get(*arguments)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    computed = json.loads(run(str(kstatus), stdin=listed))
    return {
        o["metadata"]["name"]: (
            computed[f"{o['kind']}/{o['metadata'].get('namespace', '')}/{o['metadata']['name']}"][0],
            health(o)[0],
            o,
        )
        for o in objects
    }


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
    found = verdicts(kstatus, "streamqueries", "-n", namespace)
    assert found["early"][0] == "InProgress"  # a reference that may still come
    assert found["wrong"][0] == "Failed"
    assert found["asleep"][0] == "Current"
    for name, (computed, said, manifest) in found.items():
        assert LUA_TO_KSTATUS[said] == computed, f"{name}: {manifest['status']}"
    assert "n.w" in condition(found["wrong"][2], "Stalled")["message"]


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
    (found,) = get("streamquery", "asleep", "-n", namespace)
    assert "finalizers" not in found["metadata"]
    managed = json.loads(
        kubectl("get", "wsq", "asleep", "-n", namespace, "-o", "json", "--show-managed-fields")
    )["metadata"]["managedFields"]
    operators = [m for m in managed if m["manager"] == "weir"]
    assert operators
    assert all(m.get("subresource") == "status" for m in operators)
