"""A producer waits for a reader that lags too far behind: an outage of a reader takes a bounded disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from obstore.store import MemoryStore
from weir_placement.model.fragment import Output
from weir_placement.model.location import Location
from weir_runtime import back_pressure
from weir_runtime import store as store_module
from weir_runtime.back_pressure import BackPressure
from weir_runtime.exchanges.folder.log import FolderLog
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.exchanges.ports import ExchangeWriter, Unread
from weir_runtime.exchanges.store.log import StoreLog
from weir_runtime.exchanges.store.writer import StoreWriter
from weir_runtime.lease import FileLease
from weir_runtime.logs.log import Log
from weir_runtime.process import FragmentProcess
from weir_runtime.source import Control, WeirStreamReader
from weir_runtime.store import ObjectStore

from tests.runtime.flows import SCHEMA, batch, free
from tests.runtime.support import append_batch, fragment, source, state
from tests.runtime.test_log_findings import opened

READERS = ("quick", "slow")


class FilledFlow:
    """A flow of five batches, of one kind."""

    def __init__(self, kind: str, root: Path) -> None:
        self.kind = kind
        self.folder = root / "flow"
        self.store = ObjectStore(f"s3://unread/{root.name}", {})
        writer = self.writer()
        self.sizes = [writer.write(batch(*range(10 * (n + 1))), n, n, free) for n in range(5)]

    def writer(self) -> ExchangeWriter:
        """Of another life of the producer."""
        if self.kind == "folder":
            return FolderWriter(str(self.folder), 1, READERS)
        return StoreWriter(self.store, 1, READERS, every=0)

    def commit(self, reader: str, number: int) -> None:
        log: Log = (
            FolderLog(str(self.folder), SCHEMA, reader)
            if self.kind == "folder"
            else StoreLog(self.store, SCHEMA, reader, every=0)
        )
        log.committed({"next": number})


@pytest.fixture(params=["folder", "store"])
def flow(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FilledFlow:
    memory = MemoryStore()
    monkeypatch.setattr(store_module, "_connect", lambda *_: memory)
    return FilledFlow(request.param, tmp_path)


def test_what_is_unread_is_what_the_slowest_reader_has_not_committed(flow: FilledFlow) -> None:
    writer = flow.writer()
    assert writer.unread().bytes == sum(flow.sizes), "nobody has said anything yet"
    flow.commit("quick", 5)
    flow.commit("slow", 2)
    assert writer.unread() == Unread(sum(flow.sizes[2:]), "slow")
    size = writer.write(batch(1, 2, 3), 5, 5, free)
    assert writer.unread() == flow.writer().unread() == Unread(sum(flow.sizes[2:]) + size, "slow")
    flow.commit("slow", 6)
    assert writer.unread() == Unread(size, "quick")
    flow.commit("quick", 6)
    assert writer.unread().bytes == 0


def test_a_flow_without_readers_holds_nobody() -> None:
    assert Unread.of({0: 10**12}, {}) == Unread()


def test_a_producer_waits_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = FilledFlow("folder", tmp_path)
    monkeypatch.setattr(back_pressure, "ROOM", sum(flow.sizes) - 1)
    item = source("a", tmp_path / "a")
    output = Output("exchange", flow=Location("folder", str(flow.folder)), consumers=READERS)
    spec = fragment(tmp_path, "f", [item], [], output)
    producer = FragmentProcess(spec, FileLease(spec.lease))
    append_batch(tmp_path / "a", 0, [(1, 1, 1)])
    reader = WeirStreamReader(opened(tmp_path, tmp_path / "a"), "a", producer.control, 64)
    start = reader.latestOffset(reader.initialOffset(), None)
    append_batch(tmp_path / "a", 1, [(1, 1, 2)])
    pressure = BackPressure(flow.writer(), producer.control, producer.status, producer.metrics)
    flow.commit("quick", 5)

    pressure.weigh()
    assert reader.latestOffset(start, None) == start
    assert state(spec)["waits"].startswith("slow has not read ")
    held_back = producer.metrics.held_back.labels(**producer.metrics.plain)
    assert held_back._value.get() == 1
    flow.commit("slow", 1)
    pressure.weigh()
    assert reader.latestOffset(start, None)["at"]["next"] == 2
    assert state(spec)["waits"] == ""
    assert held_back._value.get() == 0


def test_a_producer_that_waits_can_be_moved(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    control = Control(tmp_path)
    reader = WeirStreamReader(opened(tmp_path, tmp_path / "a"), "a", control, 64)
    control.set("hold")
    start = reader.latestOffset(reader.initialOffset(), None)
    assert start["at"] == start["from"]
    control.set("drain")
    assert reader.latestOffset(start, None) == start
    assert control.is_set("drained-a")
