"""A query that needs more memory than its host has gets a process of its own; the other one goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pytest
from weir_operator.local.audit import audit

from tests.local.place import Place, shared_manifests

HUGE = "replace(CAST(w.v AS STRING), '7', 'aaaaaaaaaaaaaaaaaaaa')"
for _ in range(4):
    HUGE = f"replace({HUGE}, 'a', '{'a' * 100}')"
"""Of the row 7: a text of two gigabytes."""

HUNGRY = f"""---
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {{name: wide}}
spec:
  schema: v BIGINT, ts TIMESTAMP
  eventTime: {{column: ts, watermark: 1s}}
  source: {{files: {{uri: in/wide, format: arrow}}}}
  origin: {{node: n1}}
  rate: 1
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {{name: hungry}}
spec:
  sql: SELECT w.v FROM wide w WHERE length({HUGE}) > 0
  sink: {{files: {{uri: out/hungry, format: parquet}}}}
  deletionPolicy: Delete
  policy: near
"""


class HungryPlace(Place):
    """A policy that shares processes."""

    def say(self, least: int = 10, cordoned: str = "false", text: str | None = None) -> None:
        super().say(text=shared_manifests(least, cordoned) + HUNGRY)

    def feed_hungry(self) -> None:
        """The row that takes all memory."""
        folder = self.folder / "in" / "wide"
        folder.mkdir(parents=True)
        at = pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC"))
        rows = pa.table({"v": pa.array([7], pa.int64()), "ts": at})
        with pa.OSFile(str(folder / ".0"), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
        (folder / ".0").rename(folder / "0000000000.arrow")

    def entry(self, query: str) -> dict[str, Any]:
        """The record of its process."""
        files = (self.folder / "run" / "processes").glob(f"{query}-*.json")
        (file,) = (file for file in files if not file.name.endswith(".spec.json"))
        entry: dict[str, Any] = json.loads(file.read_text())
        return entry

    def end(self) -> None:
        for machine in self.machines:
            machine.cluster.processes.stop_all()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[HungryPlace]:
    it = HungryPlace(tmp_path)
    yield it
    it.end()


def test_what_takes_all_memory_leaves_its_host_and_the_other_query_loses_nothing(place: HungryPlace) -> None:
    place.feed(3)
    place.until(lambda: place.committed(1), "a batch", 900)
    assert "host" in place.entry("hungry")
    place.feed_hungry()
    messages: set[str] = set()
    place.machine.cluster.on_event(lambda event: messages.add(f"{event.query}: {event.message}"))
    place.until(lambda: "pid" in place.entry("hungry"), "a process of its own", 900)
    (why,) = {message for message in messages if "goes on in a process of its own" in message}
    assert why.startswith("default/hungry")
    assert "out of memory" in why
    assert "host" in place.entry("sums")
    place.feed(6, end=True)

    def states() -> set[str]:
        processes = place.machine.cluster.processes.observe()
        return {p.state for p in processes if p.fragment.startswith("sums")}

    place.until(lambda: states() == {"finished"}, "the end", 900)
    group = place.group()
    verdict = audit(group.queries["default/sums"], group.problem.streams)
    assert verdict.rows > 0
    assert verdict.good, verdict
