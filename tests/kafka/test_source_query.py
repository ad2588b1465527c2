"""A query over a topic begins at one message, also through a kill; a silent partition holds no windows."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from weir_operator.controller.exposition import parse_metrics
from weir_placement.model.fragment import FragmentSpec, Input, TypedColumn
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.faults import HOLD, VARIABLE

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


def count(root: Path, topic: Topic, begin: str) -> FragmentSpec:
    """A count in windows, which wait for no partition that is silent for a second."""
    item = Input(
        "a",
        "source",
        stream="default/a",
        source={"kafka": {**topic.options, "startingOffsets": begin}},
        columns=(TypedColumn("k", "BIGINT"), TypedColumn("ts", "TIMESTAMP")),
        event_time="ts",
        idle=1_000_000,
    )
    return fragment(root, "f-k", [item], [COUNT], files_output(root / "out", *COLUMNS))


def test_a_query_begins_once_and_its_windows_close_beside_a_silent_partition(
    broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker, "clicks", 2)
    topic.send([1, 2, 3])
    spec = count(tmp_path, topic, "latest")
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


def stands_still(pid: int) -> bool:
    """By SIGSTOP."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def place(spec: FragmentSpec, batch: int) -> dict[str, Any]:
    """Where a planned batch of its input ends."""
    place: dict[str, Any] = Checkpoint(Path(spec.checkpoint) / state(spec)["hash"]).offsets(batch)["a"]["at"]
    return place


def test_killed_between_what_is_idle_and_the_batch(broker: Broker, tmp_path: Path) -> None:
    """The silent partition speaks before the next life, which by itself would decide otherwise: its rows are
    late behind the clock that did not wait for it."""
    topic = Topic(broker, "silent", 2)
    topic.send([20, 20, 3000])
    spec = count(tmp_path, topic, "earliest")
    holds = tmp_path / "holds"
    holds.mkdir()
    process = launch(spec, **{HOLD: str(holds)})
    wish = holds / str(process.pid)
    while True:
        wish.write_text("before-plan")
        os.kill(process.pid, signal.SIGCONT)
        wait_for(lambda: not wish.exists() and stands_still(process.pid), "the next batch", 300)
        planned = Checkpoint(Path(spec.checkpoint) / state(spec)["hash"]).planned()
        if "idle" in (decided := place(spec, planned)):
            break
    process.kill()
    process.wait()
    topic.send([20, 21], partition=1)
    process = launch(spec)
    wait_for(lambda: bool(sink_rows(tmp_path / "out")), "the window that the silence has closed", 300)
    process.terminate()
    assert process.wait(120) == 128 + signal.SIGTERM
    assert place(spec, planned) == decided
    (row,) = sink_rows(tmp_path / "out")
    assert 2 in row, f"two rows of the key 20, not a third: {row}"
