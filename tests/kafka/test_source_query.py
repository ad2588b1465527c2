"""A query over a topic begins at one message, also through a kill; a silent partition holds no windows."""

from __future__ import annotations

import signal
from pathlib import Path
from urllib.request import urlopen

from weir_operator.controller.exposition import parse_metrics
from weir_placement.model.fragment import Input, TypedColumn
from weir_runtime.faults import VARIABLE

from tests.kafka.broker import Broker
from tests.kafka.topics import Topic
from tests.runtime.replayer import COLUMNS, COUNT
from tests.runtime.support import files_output, fragment, launch, sink_rows, state, wait_for


def idle_partitions(port: int) -> float:
    """As the process's metrics say."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text: str = answer.read().decode()
    metrics = parse_metrics(text, "f-k", 1, 0.0)
    return metrics.idle_partitions


def test_a_query_begins_once_and_its_windows_close_beside_a_silent_partition(
    broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker, "clicks", 2)
    topic.send([1, 2, 3])
    item = Input(
        "a",
        "source",
        stream="default/a",
        source={"kafka": {**topic.options, "startingOffsets": "latest"}},
        columns=(TypedColumn("k", "BIGINT"), TypedColumn("ts", "TIMESTAMP")),
        event_time="ts",
        idle=1_000_000,
    )
    spec = fragment(tmp_path, "f-k", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    assert launch(spec, **{VARIABLE: "after-plan"}).wait(300) == -signal.SIGKILL
    topic.send([20, 20, 3000])
    process = launch(spec)
    wait_for(lambda: bool(sink_rows(tmp_path / "out")), "a window beside the silent partition", 300)
    wait_for(lambda: idle_partitions(state(spec)["port"]) > 0, "the metric")
    process.terminate()
    assert process.wait(120) == 128 + signal.SIGTERM
    assert state(spec)["phase"] == "stopped"
    (row,) = sink_rows(tmp_path / "out")
    assert 2 in row, f"two rows of the key 20, none of before: {row}"
