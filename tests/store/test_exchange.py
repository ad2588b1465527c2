"""A flow on a real S3 server: each batch once, whatever writers died, came late or wrote again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from weir_placement.model.fragment import FragmentError
from weir_runtime import secrets
from weir_runtime import store as under_test
from weir_runtime.store import ObjectStore, StoreError

from tests.runtime.flows import batch, free
from tests.runtime.store_cases import StoreCases, log, whole, writer
from tests.runtime.store_file_cases import FileCases
from tests.store.server import BUCKET, KEYS, StoreServer, start_server


class TestOnAServer(StoreCases, FileCases):
    """`store` is of conftest.py."""


def test_of_many_writers_of_a_number_one_succeeds(store: ObjectStore) -> None:
    for number in range(10):
        name = f"{number:010d}.arrow"
        with ThreadPoolExecutor(8) as pool:
            created = list(
                pool.map(lambda i, n=name: store.create(n, b"x" * 1000 * i, {"by": str(i)}), range(8))
            )
        assert sum(created) == 1
        about, body = store.about(name), store.read(name)
        assert about is not None
        assert body is not None
        assert about["by"] == str(created.index(True))
        assert len(body) == 1000 * created.index(True), "what is beside the body is of the same writer"


def test_large_batches_are_put_whole(store: ObjectStore) -> None:
    numbers = [(v * 2654435761) % 2**40 for v in range(1, 700_000)]
    assert writer(store).write(batch(*numbers), 0, 0, free) > 6 * 2**20
    assert whole(store) == numbers


def test_more_names_than_a_listing_has(store: ObjectStore) -> None:
    names = [f"{i:010d}.arrow" for i in range(1100)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda name: store.create(name, b""), names))
    assert list(store.names()) == names
    store.delete(names)
    assert list(store.names()) == []


def test_a_bucket_that_is_not_there_is_named(server: StoreServer) -> None:
    with pytest.raises(FragmentError, match=r"exchange.files.uri: s3://nowhere/f: .*"):
        ObjectStore("s3://nowhere/f", server.options).probe()


def test_keys_that_are_wrong_are_an_error_before_the_first_batch(
    server: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    other = ObjectStore(f"s3://{BUCKET}/f", server.options)
    under_test._clients.clear()  # which know the right ones
    with pytest.raises(FragmentError, match=f"exchange.files.uri: s3://{BUCKET}/f: "):
        other.probe()
    under_test._clients.clear()


def test_keys_of_a_mounted_secret(
    server: StoreServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, "of somebody else")
        (tmp_path / "login").mkdir(exist_ok=True)
        (tmp_path / "login" / name).write_text(value)
    monkeypatch.setattr(secrets, "FOLDER", tmp_path)
    store = ObjectStore(f"s3://{BUCKET}/secret/f", {**server.options, "secretRef": "login"})
    writer(store).write(batch(1, 2), 0, 0, free)
    assert whole(store) == [1, 2]


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[StoreServer]:
    """With a certificate of an authority that nobody knows."""
    key, certificate = tmp_path / "key.pem", tmp_path / "ca.crt"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-keyout", key, "-out", certificate, "-subj", "/CN=127.0.0.1", "-days", "2"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    server = start_server(tmp_path / "secure", (certificate, key))
    yield server
    server.stop()


def test_an_authority_of_a_mounted_secret(
    secure: StoreServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert secure.authority is not None
    (tmp_path / "authority").mkdir()
    (tmp_path / "authority" / "ca.crt").write_text(secure.authority.read_text())
    monkeypatch.setattr(secrets, "FOLDER", tmp_path)
    uri = f"s3://{BUCKET}/tls/f"
    with pytest.raises(StoreError) as refused:
        ObjectStore(uri, secure.options, quick=True).put("stream.json", "{}")
    assert "UnknownIssuer" in str(refused.value.__cause__)
    store = ObjectStore(uri, {**secure.options, "caSecretRef": "authority"})
    writer(store).write(batch(1, 2), 0, 0, free)
    assert whole(store) == [1, 2]


def test_a_reader_waits_while_the_store_is_away(tmp_path: Path) -> None:
    server = start_server(tmp_path / "s3")
    store = ObjectStore(f"s3://{BUCKET}/away/f", server.options)
    out = writer(store, consumers=("r",))
    out.write(batch(1), 0, 5, free)
    reader = log(store)
    advance = reader.advance({"next": 0}, 0, 64)
    server.stop()
    assert reader.advance(advance.place, advance.clock, 64) == advance
    reader.committed(advance.place)
    assert out.delete_consumed() == 0
