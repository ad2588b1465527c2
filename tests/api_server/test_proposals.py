"""Plans that wait for a person, and queries that are refused: said once, and written once."""

from __future__ import annotations

import time
from typing import Any

import pytest
from weir_operator.controller.times import timestamp
from weir_operator.kube.api import ApiError
from weir_operator.kube.store import ClusterStore

from tests.api_server.scene import QUICK, SQL, ApiScene


def rounds(scene: ApiScene, count: int) -> None:
    for _ in range(count):
        scene.loop.once()
        scene.kubelet.step()


def proposed(scene: ApiScene) -> dict[str, Any]:
    return dict(scene.of("Placement").get("status", {}).get("proposed") or {})


@pytest.fixture
def manual(scene: ApiScene) -> ApiScene:
    """No plan comes into force without a person."""
    scene.write("PlacementPolicy", "default", {**QUICK, "mode": "Manual"})
    scene.until(lambda: proposed(scene))
    return scene


def test_a_plan_that_waits_is_written_once(manual: ApiScene) -> None:
    rounds(manual, 3)
    before = manual.versions()
    rounds(manual, 3)
    manual.start_operator()
    rounds(manual, 3)
    assert manual.versions() == before
    assert manual.pods() == {}


def test_the_plan_that_was_approved_comes_into_force_and_no_other(manual: ApiScene) -> None:
    store, query = ClusterStore(manual.target.admin), f"{manual.target.namespace}/q"
    until = timestamp(time.time() + 600.0)
    store.set_revision(query, approval={"plan": "0" * 12, "until": until})
    rounds(manual, 3)
    assert manual.pods() == {}
    store.set_revision(query, approval={"plan": proposed(manual)["hash"], "until": timestamp(0.0)})
    rounds(manual, 3)
    assert manual.pods() == {}, "it has expired"
    store.set_revision(query, approval={"plan": proposed(manual)["hash"], "until": until})
    manual.until(manual.ready)
    assert manual.of("Placement")["spec"]["revision"] == 1
    assert not proposed(manual)


@pytest.mark.parametrize("until", ["tomorrow", "2026-01-31", 5, None])
def test_an_approval_without_a_time_is_refused(manual: ApiScene, until: object) -> None:
    store, query = ClusterStore(manual.target.admin), f"{manual.target.namespace}/q"
    with pytest.raises(ApiError) as refused:
        store.set_revision(query, approval={"plan": "0" * 12, "until": until})
    assert refused.value.status == 422


@pytest.mark.parametrize(
    "sql", ["SELECT s.nothing FROM s", "SELECT x.k FROM x", "SELECT s.k, '😀' AS a FROM s WHERE s.🐍 > 1"]
)
def test_a_query_that_is_refused_is_told_why_once(scene: ApiScene, sql: str) -> None:
    scene.ask(sql)
    scene.until(lambda: "spec.sql" in scene.why())
    rounds(scene, 2)
    before = scene.versions()
    rounds(scene, 3)
    assert scene.versions() == before
    assert scene.pods() == {}
    scene.ask(SQL)
    scene.until(scene.ready)


def test_one_that_fits_nowhere_is_told_why_once_and_starts_when_it_does(scene: ApiScene) -> None:
    scene.write("PlacementPolicy", "default", {**QUICK, "nodeSelector": {"pool": "none"}})
    scene.until(lambda: "no node" in scene.why())
    rounds(scene, 2)
    before = scene.versions()
    rounds(scene, 3)
    assert scene.versions() == before
    scene.write("PlacementPolicy", "default", QUICK)
    scene.until(scene.ready)
