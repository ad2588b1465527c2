"""A result that is much larger than what a process may hold of it, over links that carry little."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pytest
from kafka.errors import KafkaTimeoutError
from weir_placement.model.fragment import Output
from weir_runtime import kafka_sends, kafka_transactions
from weir_runtime.audit_topics import messages
from weir_runtime.compiler import ID, TIME
from weir_runtime.exchanges.topic.log import TopicLog
from weir_runtime.exchanges.topic.topic import Topic as Flow
from weir_runtime.exchanges.topic.writer import TopicWriter
from weir_runtime.kafka_sinks import kafka_sink
from weir_runtime.logs.log import ENDLESS
from weir_runtime.publish import BatchSink

from tests.chaos.wire import Wire
from tests.kafka.broker import Broker, start_broker
from tests.kafka.test_exchange import until
from tests.kafka.topics import Topic
from tests.runtime.flows import DESCRIPTION, free
from tests.runtime.support import fragment

MIB = 2**20
SCHEMA = pa.schema([("v", pa.string()), (TIME, pa.timestamp("us", tz="UTC")), (ID, pa.binary())])
WIDTH = 10_000
"""[bytes] of a row."""

LARGE = 64 * MIB
BOUND = LARGE // 2
"""[bytes] of a large result, and what a process may take for it, which has some MiB of it at a time."""

FLOW, SINK, TRANSACTIONS = "flow", "sink", "transactions"
KINDS = (FLOW, SINK, TRANSACTIONS)


@dataclass
class ThinLine:
    """A broker, and the line to it."""

    broker: Broker
    wire: Wire


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThinLine]:
    wire = Wire()
    broker = start_broker(tmp_path_factory.mktemp("thin") / "b1", line=lambda port: wire.lead_to(port))
    yield ThinLine(broker, wire)
    wire.stop()
    broker.stop()


@pytest.fixture(autouse=True)
def mended(line: ThinLine) -> Iterator[None]:
    yield
    line.wire.mend()


@pytest.fixture
def out(line: ThinLine, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a topic that is this test's own."""
    return "".join(c if c.isalnum() else "-" for c in request.node.name)


def result(folder: Path, size: int) -> pa.Table:
    """Rows that cannot be compressed, in one piece and mapped from a file, as a batch's result may be."""
    count, path = size // WIDTH, folder / f"{size}.arrow"
    text = os.urandom(size // 2 + WIDTH).hex()
    columns = [
        pa.array([text[i * WIDTH : (i + 1) * WIDTH] for i in range(count)]),
        pa.array(range(count), pa.timestamp("us", tz="UTC")),
        pa.array([b"%d" % i for i in range(count)]),
    ]
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
        writer.write_table(pa.table(columns, schema=SCHEMA))
    return mapped(path)


def mapped(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def writer(kind: str, broker: Broker, name: str, folder: Path) -> BatchSink:
    """Claimed, and with its clients connected."""
    new_writer: BatchSink
    if kind == FLOW:
        new_writer = flow = TopicWriter(Flow(f"weir.default.{name}", broker.options), 1)
        flow.describe(DESCRIPTION)
    else:
        options = {**broker.options, "topic": name, "transactional": kind == TRANSACTIONS}
        spec = fragment(folder, name, [], [], Output("kafka", options=options))
        new_writer = kafka_sink(spec, "p", [("v", "v")])
    new_writer.take_over("n", -1)
    new_writer.write(result(folder, WIDTH), 0, 0, free)
    return new_writer


def values(kind: str, broker: Broker, name: str) -> list[str]:
    """What readers see."""
    if kind == FLOW:
        log = TopicLog(Flow(f"weir.default.{name}", broker.options), SCHEMA, "r")
        end = log.advance(log.start(), 0, 64, ENDLESS).place
        return [v for batch in log.read(log.start(), end) for v in batch.column("v").to_pylist()]
    return [json.loads(m.value() or b"")["v"] for m in messages({**broker.options, "topic": name})]


class MemoryGrowth(threading.Thread):
    """How much more memory of its own this process has at most, since it was made."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before = self.most = own_memory()
        self.over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.over.wait(0.005):
            self.most = max(self.most, own_memory())

    def growth(self) -> int:
        self.over.set()
        self.join()
        return self.most - self.before


def own_memory() -> int:
    """[bytes] Without mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def write_large(path: Path, kind: str, name: str, broker: Broker, folder: Path) -> int:
    sink, table = writer(kind, broker, name, folder), mapped(path)
    memory = MemoryGrowth()
    sink.write(table, 1, 0, free)
    return memory.growth()


def read_large(name: str, broker: Broker) -> int:
    log = TopicLog(Flow(f"weir.default.{name}", broker.options), SCHEMA, "r")
    end = log.advance(log.start(), 0, 64, ENDLESS).place
    memory, rows = MemoryGrowth(), 0
    for batch in log.read(log.start(), end):
        rows += batch.num_rows
    assert rows == LARGE // WIDTH + 1
    return memory.growth()


def measured(task: Callable[..., int], *arguments: Any) -> int:
    """[bytes] What a task says that has a process of its own, where nothing was freed before."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(task, arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_result_is_written_with_little_memory(
    line: ThinLine, out: str, tmp_path: Path, kind: str
) -> None:
    """Also where the link is slower than the rows come: what waits for it is bounded too."""
    if kind != FLOW:
        Topic(line.broker, out, partitions=3)
    table = result(tmp_path, LARGE)
    line.wire.slow(0.002)
    broker = Broker(**{**vars(line.broker), "process": None})  # a process does not go to another one
    growth = measured(write_large, tmp_path / f"{LARGE}.arrow", kind, out, broker, tmp_path)
    line.wire.mend()
    print(f"{kind}: {growth / MIB:.0f} MiB")
    assert growth < BOUND
    assert sorted(values(kind, line.broker, out)[1:]) == sorted(table.column("v").to_pylist())
    if kind == FLOW:
        growth = measured(read_large, out, broker)
        print(f"its reader: {growth / MIB:.0f} MiB")
        assert growth < BOUND


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> float:
    """[s] for which brokers may confirm nothing, here."""
    for module in (kafka_sends, kafka_transactions):
        monkeypatch.setattr(module, "CONFIRMED", 15.0)
    return 15.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_that_takes_longer_than_anything_may_stand_still_gets_through(
    line: ThinLine, out: str, tmp_path: Path, patience: float, kind: str
) -> None:
    if kind != FLOW:
        Topic(line.broker, out)
    size = 2 * MIB if kind == SINK else 16 * MIB  # of rows each of which is a request
    sink, table = writer(kind, line.broker, out, tmp_path), result(tmp_path, size)
    line.wire.slow(0.06)
    begin = time.monotonic()
    sink.write(table, 1, 0, free)
    assert time.monotonic() - begin > patience, "the link is too fast for this test"
    line.wire.mend()
    assert values(kind, line.broker, out)[1:] == table.column("v").to_pylist()
    sink.close()


@pytest.mark.parametrize(("kind", "size"), [*((kind, 16 * MIB) for kind in KINDS), (TRANSACTIONS, MIB)])
def test_a_result_of_which_nothing_gets_through_is_an_error(
    line: ThinLine, out: str, tmp_path: Path, patience: float, kind: str, size: int
) -> None:
    """Both when more waits and when all of it is on its way. What was given up is not sent any more."""
    if kind != FLOW:
        Topic(line.broker, out)
    sink, table = writer(kind, line.broker, out, tmp_path), result(tmp_path, size)
    line.wire.cut()
    nothing = f"{out}: brokers have confirmed nothing for {patience:g} s"
    with pytest.raises((KafkaTimeoutError, TimeoutError), match=nothing):
        sink.write(table, 1, 0, free)
    sink.close()
    until(lambda: not [thread for thread in threading.enumerate() if thread.name.endswith("-network-thread")])
    line.wire.mend()
    if kind != SINK:
        assert len(values(kind, line.broker, out)) == 1
