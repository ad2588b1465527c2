"""A query whose edit names the folder of another's results is refused, and both go on as they are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controller.objects import ObjectCluster, query
from tests.controller.test_in_force import put, rounds, running


def folder(uri: str) -> dict[str, Any]:
    return {"files": {"uri": uri, "format": "parquet"}}


def test_of_two_that_are_applied_at_once_only_one_writes() -> None:
    """The webhook may know neither when it checks the other: its view is up to 5 s old."""
    cluster = running()
    for name in ("a", "b"):
        new = query(name, "s", "mine")
        new["spec"]["sink"] = folder("/out/same")
        cluster.objects.append(new)
    rounds(cluster)
    assert cluster.of_query("a")
    assert not cluster.of_query("b")
    assert "is also that of default/a; give each" in cluster.condition("b", "Stalled")["message"]
    rounds(cluster)
    assert not cluster.of_query("b")


@pytest.fixture
def cluster() -> ObjectCluster:
    """Query `a`, which is the older one by its name, and `q` run."""
    other = query("a", "s", "mine")
    other["spec"]["sink"] = folder("/out/a")
    return running(other, spec={"sink": folder("/out/q")})


@pytest.mark.parametrize(("edited", "taken"), [("a", "q"), ("q", "a")])
def test_who_writes_a_folder_keeps_it(cluster: ObjectCluster, edited: str, taken: str) -> None:
    before = dict(cluster.of_query("a")), dict(cluster.of_query("q"))
    put(cluster, "StreamQuery", edited, sink=folder(f"/out/{taken}"))
    rounds(cluster)
    stalled = cluster.condition(edited, "Stalled")
    assert stalled["status"] == "True"
    assert f"is also that of default/{taken}; give each query its own" in stalled["message"]
    assert cluster.condition(taken, "Stalled")["status"] == "False"
    assert (dict(cluster.of_query("a")), dict(cluster.of_query("q"))) == before
    put(cluster, "StreamQuery", edited, sink=folder("/out/new"))
    rounds(cluster)
    assert cluster.condition(edited, "Stalled")["status"] == "False"
