"""One server for all tests here, and a place of its own for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from weir_runtime.store import ObjectStore

from tests.store.server import BUCKET, KEYS, StoreServer, start_server

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    """Plain HTTP."""
    started = start_server(tmp_path_factory.mktemp("s3") / "plain")
    yield started
    started.stop()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the variables that every client of S3 knows, as a pod may have them."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def store(server: StoreServer) -> ObjectStore:
    """Empty."""
    return ObjectStore(f"s3://{BUCKET}/weir/default/f{next(_numbers)}", server.options)
