"""Scenarios for which nothing in memory could stand in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api_server.server import ApiServer
from tests.api_server.worlds import OnServer, World, new_namespace, played


@pytest.fixture
def world(server: ApiServer) -> Iterator[World]:
    """On the real one alone."""
    yield from played(OnServer(server, new_namespace()))
