"""Scenarios for which nothing in memory could stand in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api_server.api_under_test import ApiUnderTest, OnServer, new_namespace, played
from tests.api_server.server import ApiServer


@pytest.fixture
def target(server: ApiServer) -> Iterator[ApiUnderTest]:
    """On the real one alone."""
    yield from played(OnServer(server, new_namespace()))
