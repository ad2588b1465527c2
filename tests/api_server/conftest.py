"""Each scenario is played on the API server in memory; with WEIR_API_SERVER=real (`make test-api`) also on a
real one, and the tests for which nothing in memory could stand in are collected too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from weir_operator.kube.api import Api, ApiError

from tests.api.structural import CRDS
from tests.api_server.api_under_test import (
    CLUSTER_WIDE,
    ApiUnderTest,
    InMemory,
    OnServer,
    grants,
    new_namespace,
    played,
)
from tests.api_server.scene import ApiScene
from tests.api_server.server import ApiServer, start_api_server
from tests.api_server.snapshot_scenario import SnapshotScenario
from tests.kube.memory import Memory

REAL = os.environ.get("WEIR_API_SERVER") == "real"
collect_ignore = [] if REAL else ["on_the_server"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """One for all tests, with our kinds and the operator's rights."""
    started = start_api_server(tmp_path_factory.mktemp("api"))
    try:
        admin = started.api("admin")
        for file in CRDS.glob("*.yaml"):
            admin.create(yaml.safe_load(file.read_text()))
        for grant in grants():
            plural = f"{grant['kind'].lower()}s"
            admin.call("POST", f"/apis/rbac.authorization.k8s.io/v1/{plural}", grant)
        started.until(lambda: _served(admin))
        yield started
    finally:
        started.stop()


def _served(admin: Api) -> bool:
    try:
        return all(
            list(admin.list(kind)) == [] for kind in ("Stream", "StreamQuery", "Placement", *CLUSTER_WIDE)
        )
    except ApiError:
        return False


@pytest.fixture(params=["memory", "server"] if REAL else ["memory"])
def target(request: pytest.FixtureRequest) -> Iterator[ApiUnderTest]:
    """A namespace of its own, and no nodes or policies but those of the test."""
    if request.param == "memory":
        yield from played(InMemory(Memory(), new_namespace()))
    else:
        yield from played(OnServer(request.getfixturevalue("server"), new_namespace()))


@pytest.fixture
def scene(target: ApiUnderTest) -> ApiScene:
    return ApiScene(target)


@pytest.fixture
def scenario(scene: ApiScene, tmp_path: Path) -> SnapshotScenario:
    return SnapshotScenario(scene, tmp_path / "volume")
