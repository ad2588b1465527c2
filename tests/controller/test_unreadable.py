"""A Placement into which somebody wrote nonsense: that query stays as it is, the others go on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, query, settle


@pytest.mark.parametrize(
    "nonsense",
    [
        {"plan": {"placed": {}, "boundaries": [], "source": "x"}},
        {"plan": {"source": "x"}},
        {"plan": ["x"]},
        {"revision": "three"},
    ],
    ids=["a plan without parts", "no plan", "a list", "a word"],
)
def test_one_that_cannot_be_read_stops_nothing(nonsense: dict[str, Any]) -> None:
    scenario = Scenario({f"default/{name}": desired(query(name)) for name in ("a", "b")})
    cluster = FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    whole = cluster.placements["default/a"]
    cluster.placements["default/a"] = replace(whole, spec={**whole.spec, **nonsense})
    mine = {key: p for key, p in cluster.processes.items() if key[0].startswith("a-")}
    scenario.queries["default/b"] = desired(query("b", "s.k = 2"))
    settle(it)
    assert {key: p for key, p in cluster.processes.items() if key[0].startswith("a-")} == mine
    assert condition(cluster, "a", "Stalled") == "True"
    assert cluster.placements["default/b"].spec["revision"] == 2
    assert condition(cluster, "b", "Ready") == "True"
    cluster.placements["default/a"] = whole
    settle(it)
    assert condition(cluster, "a", "Ready") == "True"
    assert {key: p for key, p in cluster.processes.items() if key[0].startswith("a-")} == mine
