"""A flow on an object store in memory; a store that must be refused; keys."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from obstore.store import MemoryStore
from weir_placement.model.fragment import FragmentError
from weir_placement.model.location import Flows
from weir_runtime import secrets as mounted
from weir_runtime import store as under_test
from weir_runtime.logs.folder import StoreFolder
from weir_runtime.store import ObjectStore, StoreError
from weir_runtime.sweep import sweep_flows

from tests.runtime.store_cases import START, StoreCases, log
from tests.runtime.store_file_cases import FileCases

KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}
_numbers = itertools.count()


class TestInMemory(StoreCases, FileCases):
    """The library's own store, which knows the same conditions."""

    @pytest.fixture
    def store(self, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
        memory = MemoryStore()
        monkeypatch.setattr(under_test, "_connect", lambda *_: memory)
        return ObjectStore(f"s3://memory{next(_numbers)}/flows/default/f", {})


class Careless(BaseHTTPRequestHandler):
    """Takes every object, whatever the condition."""

    protocol_version = "HTTP/1.1"
    status = 200

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class Unable(Careless):
    """Knows no condition, and says so."""

    status = 501


class Slow(BaseHTTPRequestHandler):
    """Shows an object only a while after it has refused the name to another writer."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")

    def do_HEAD(self) -> None:
        Slow.looks += 1
        self.answer(200 if Slow.looks > 4 else 404, b"")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    looks = 0


def test_a_name_that_another_writer_is_about_to_have_is_waited_for(secrets: Path) -> None:
    Slow.looks = 0
    with serving(Slow) as endpoint:
        assert not at(endpoint).create("0000000000.arrow", b"x")
    assert Slow.looks == 5


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(mounted, "FOLDER", tmp_path)
    folder = tmp_path / "login"
    folder.mkdir()
    for name, value in KEYS.items():
        (folder / name).write_text(f"{value}\n")
    return folder


def at(endpoint: str) -> ObjectStore:
    return ObjectStore(
        "s3://bucket/flows/default/f", {"endpoint": endpoint, "secretRef": "login"}, quick=True
    )


def test_a_store_that_overwrites_is_refused(secrets: Path) -> None:
    with serving(Careless) as endpoint, pytest.raises(FragmentError) as refused:
        at(endpoint).probe()
    text = "exchange.files.uri: s3://bucket/flows/default/f: the store overwrites"
    assert str(refused.value).startswith(text)
    assert "use a store with conditional writes" in str(refused.value)


def test_a_store_that_knows_no_condition_is_refused(secrets: Path) -> None:
    with serving(Unable) as endpoint, pytest.raises(FragmentError, match=r"exchange.files.uri: .*501"):
        at(endpoint).probe()


def test_a_store_that_is_away_is_nothing_new_for_a_while(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Careless) as endpoint:
        store = at(endpoint)
    reader, files = log(store), StoreFolder(store.uri, store.options)
    for _ in range(2):
        advance = reader.advance({"next": 3}, 7, 64)
        assert (advance.place, advance.clock, advance.ended) == ({"next": 3}, 7, False)
        with files.waiting():
            assert files.has("END"), "no answer is none"
    assert log(store).backlog(START) == 0
    log(store).committed(START)
    with pytest.raises(StoreError):
        store.probe()
    flows = Flows("store", "s3://bucket/flows/{namespace}/{fragment}", store.options)
    (line,) = sweep_flows(flows, Path("/nonexistent"), "default", frozenset(), "east").left
    assert line.startswith("flows s3://bucket/flows/default/* are not removed: ")
    monkeypatch.setattr(under_test, "SILENT", -1.0)
    with pytest.raises(StoreError, match="s3://bucket/flows/default/f: "):
        reader.advance({"next": 3}, 7, 64)
    with pytest.raises(StoreError), files.waiting():
        files.has("END")


def test_keys_are_of_the_secret_alone(secrets: Path) -> None:
    store = at("http://127.0.0.1:1")
    keys = under_test._Keys("login")
    credentials = keys()
    assert (credentials["access_key_id"], credentials["secret_access_key"], credentials["token"]) == (
        "id",
        "key",
        None,
    )
    (secrets / "AWS_ACCESS_KEY_ID").write_text("rotated")
    (secrets / "AWS_SESSION_TOKEN").write_text("token\n")
    credentials = keys()
    assert (credentials["access_key_id"], credentials["token"]) == ("rotated", "token")
    assert b"rotated" not in pickle.dumps(store)


def test_a_secret_without_a_key_is_named(secrets: Path) -> None:
    (secrets / "AWS_SECRET_ACCESS_KEY").unlink()
    with pytest.raises(FragmentError, match=r"s3.secretRef: no key AWS_SECRET_ACCESS_KEY in the secret"):
        at("http://127.0.0.1:1").put("stream.json", "{}")
