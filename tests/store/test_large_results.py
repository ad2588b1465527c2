"""A large result gets through whatever the link is, in a heap that has no room for it, and leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from weir_runtime import store as under_test
from weir_runtime.faults import VARIABLE
from weir_runtime.store import Denied, ObjectStore, StoreError

from tests.chaos.wire import Wire
from tests.runtime.flows import batch, free
from tests.runtime.store_cases import log, values, whole, writer
from tests.store import bounded
from tests.store.server import ROOT, StoreServer

LARGE = bounded.ROWS * bounded.WIDTH


def run(what: str, store: ObjectStore, folder: Path, **surroundings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.store.bounded", what, store.uri, json.dumps(store.options)]
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    # glibc gives every thread 64 MiB of addresses, which count before they are used
    own = {"TMPDIR": str(temporary), "MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return subprocess.run(
        [*command, str(folder)],
        cwd=ROOT,
        env=dict(os.environ) | own | surroundings,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("what", bounded.LARGE)
def test_no_heap_has_a_whole_result(what: str, store: ObjectStore, tmp_path: Path) -> None:
    done = run(what, store, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout)
    if what.startswith("write"):
        assert result > LARGE
    else:
        assert (
            result == {"read_flow": bounded.ROWS, "read_source": [1, bounded.ROWS - 1], "copy_file": 0}[what]
        )


@pytest.mark.parametrize("point", ["before-temporary", "after-temporary", "before-publish"])
def test_a_kill_leaves_no_temporary_file(point: str, store: ObjectStore, tmp_path: Path) -> None:
    for nth, there in ((1, []), (2, ["0000000000.arrow"])):
        assert (
            run("write_small", store, tmp_path, **{VARIABLE: f"{point}:{nth}"}).returncode == -signal.SIGKILL
        )
        assert [path for path in (tmp_path / "tmp").rglob("*") if path.is_file()] == []
        assert list(store.names()) == there


@pytest.fixture
def wire(server: StoreServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """In front of the server; a request has 5 s, and more where it carries more than 500 kB."""
    monkeypatch.setattr(under_test, "PATIENT", (timedelta(seconds=5), timedelta(seconds=20)))
    monkeypatch.setattr(under_test, "SLOWEST", 100_000)
    monkeypatch.setattr(under_test, "PART", 300_000)
    wire = Wire()
    wire.lead_to(server.port)
    yield wire
    wire.mend()


def through(wire: Wire, store: ObjectStore) -> ObjectStore:
    return ObjectStore(store.uri, {**store.options, "endpoint": f"http://127.0.0.1:{wire.port}"})


def test_what_takes_longer_than_a_request_has_gets_through_a_thin_link(
    store: ObjectStore, wire: Wire, tmp_path: Path
) -> None:
    """The link carries 64 KiB in 0.3 s, so all of it needs twice what a request has."""
    thin = through(wire, store)
    out, reader = writer(thin), log(thin)
    wire.slow(0.3)
    numbers = np.random.default_rng(1).integers(0, 2**62, 280_000).tolist()
    assert out.write(batch(*numbers), 0, 0, free) > 2_200_000
    assert values(reader, {"next": 0}, {"next": 1}) == numbers
    body = os.urandom(2_200_000)
    (tmp_path / "file").write_bytes(body)
    thin.put_file("file", tmp_path / "file")
    thin.fetch("file", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == body


def test_a_link_that_carries_nothing_is_an_error_and_asked_again(
    store: ObjectStore, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = through(wire, store)
    out = writer(cut)
    assert cut.create("there", os.urandom(200_000))
    monkeypatch.setattr(under_test, "PATIENT", (timedelta(seconds=1), timedelta(0)))
    wire.cut()
    with pytest.raises(StoreError):
        out.write(batch(1), 0, 0, free)
    with pytest.raises(StoreError):
        cut.read("there")
    wire.mend()
    monkeypatch.setattr(under_test, "PATIENT", (timedelta(seconds=30), timedelta(0)))
    out.write(batch(1), 0, 0, free)
    assert whole(store) == [1]


def test_a_result_that_no_store_takes_is_named(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "LARGEST", 1_000)
    with pytest.raises(
        Denied, match=r"0000000000\.arrow: \d+ bytes in one batch; a store takes at most 1000 in"
    ):
        writer(store).write(batch(*range(1_000)), 0, 0, free)
    assert "0000000000.arrow" not in store.names()


def test_a_body_is_of_one_object(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is put in its place while it is read does not go on behind its first part."""
    monkeypatch.setattr(under_test, "PART", 4)
    store.put("name", "0123456789")
    parts = store._parts("name")
    assert bytes(next(parts)[0]) == b"0123"
    store.put("name", "abcdefghij")
    with pytest.raises(StoreError), store._asking():
        list(parts)
    assert bytes(store.read("name") or b"") == b"abcdefghij"
