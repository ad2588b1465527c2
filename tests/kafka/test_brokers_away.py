"""Fragments that start while no broker answers wait for one, and say so; then not a row is missing."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

from weir_operator.controller.exposition import parse_metrics
from weir_placement.model.fragment import FragmentSpec, Input, Output, OutputColumn
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter
from weir_runtime.audit_topics import messages

from tests.kafka.broker import start_broker
from tests.kafka.topics import Topic
from tests.runtime.support import fragment, launch, source, state, wait_for, write_log

ALL = Filter("f", ("a",), predicate="a.v > 0", columns=("a.v",))
ROWS = 40


def unreachable(spec: FragmentSpec) -> bool:
    """As the process's metrics say."""
    with urlopen(f"http://127.0.0.1:{state(spec)['port']}/metrics") as answer:
        return parse_metrics(answer.read().decode(), spec.name, 1, 0.0).unreachable


def values(topic: Topic) -> list[int]:
    """What a reader of committed messages sees."""
    return sorted(json.loads(message.value() or b"")["v"] for message in messages(topic.options))


def sink(topic: Topic, transactional: bool) -> Output:
    options = {**topic.options, "transactional": transactional}
    return Output("kafka", options=options, columns=(OutputColumn("a.v", "v"),))


def fragments(folder: Path, address: str, sinks: Sequence[Topic]) -> list[FragmentSpec]:
    """A producer of a flow, its reader, whose sink is one topic, and a fragment from files to another."""
    write_log(folder / "a", [[(1, v, v)] for v in range(1, ROWS + 1)])
    flow = Location("topic", "weir.default.f-f", {"bootstrapServers": address})
    reads = Input("f", "exchange", flow=flow)
    rest = Filter("g", ("f",), predicate="a.v > 1", columns=("a.v",))
    once, again = sinks
    files, out = source("a", folder / "a"), Output("exchange", flow=flow, consumers=("f-g",))
    return [
        fragment(folder, "f-f", [files], [ALL], out),
        fragment(folder, "f-g", [reads], [rest], sink(once, True)),
        fragment(folder, "f-h", [files], [ALL], sink(again, False)),
    ]


def test_fragments_start_before_their_brokers(tmp_path: Path) -> None:
    broker = start_broker(tmp_path / "b1")
    try:
        sinks = [Topic(broker, name) for name in ("once", "again")]
        specs = fragments(tmp_path, broker.address, sinks)
        broker.stop()
        processes = [launch(spec) for spec in specs]
        for process, spec in zip(processes, specs, strict=True):
            wait_for(lambda: bool(state(spec).get("waits")) or process.poll() is not None, "a word", 300)  # noqa: B023
            assert process.poll() is None, state(spec)
            assert broker.address in state(spec)["waits"]
            assert unreachable(spec)
        processes[0].terminate()
        assert processes[0].wait(120) == 128 + signal.SIGTERM
        processes[0] = launch(specs[0])
        broker.start_again()
        for process, spec in zip(processes, specs, strict=True):
            assert process.wait(300) == 0, state(spec)
            assert state(spec)["waits"] == ""
            assert '"released": true' in Path(spec.lease).read_text()
        assert values(sinks[0]) == list(range(2, ROWS + 1))
        assert values(sinks[1]) == list(range(1, ROWS + 1))
    finally:
        broker.stop()
