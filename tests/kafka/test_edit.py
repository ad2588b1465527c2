"""An edit that changes the results of a running query whose source and flow are topics of a real broker:
rows up to the cut are the old query's, later ones the new query's, and there is no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from weir_operator.controller.desired_state import DesiredQuery
from weir_operator.controller.record import Record, read_record
from weir_operator.local.audit import sink_rows
from weir_runtime.audit import SourceRows, batch, compare

from tests.kafka.broker import Broker
from tests.kafka.topics import Topic
from tests.local.place import Place

MANIFESTS = """
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {{name: c}}
spec:
  schema: k BIGINT, v BIGINT, ts TIMESTAMP
  eventTime: {{column: ts, watermark: 1s}}
  source: {{kafka: {{bootstrapServers: "{broker}", topic: clicks-edited}}}}
  rate: 100
---
apiVersion: weir.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: over-kafka}}
spec: {{exchange: {{kafka: {{bootstrapServers: "{broker}"}}}}, drift: {{hold: 10m}}}}
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {{name: sums}}
spec:
  operators:
    - {{id: f, kind: filter, inputs: [c], predicate: c.v > {least}, nodes: [n1]}}
    - {{id: g, kind: aggregate, inputs: [f], time: c.ts, window: 10s, groupBy: [c.k], groups: 7, nodes: [n2],
       aggregates: [{{name: n, function: count}}, {{name: total, function: sum, expression: c.v}}]}}
  order: fixed
  sink: {{files: {{uri: out/sums, format: parquet}}}}
  deletionPolicy: Delete
  policy: over-kafka
---
apiVersion: v1
kind: Node
metadata: {{name: n1}}
status: {{allocatable: {{cpu: "2", memory: 8Gi}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: n2}}
status: {{allocatable: {{cpu: "2", memory: 8Gi}}}}
"""
ORIGIN = datetime(2026, 1, 1, tzinfo=UTC)
"""Rows are so many seconds later."""
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])


class TopicPlace(Place):
    """Its log is a topic of two partitions."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.broker = broker
        self.topic = Topic(broker, "clicks-edited", 2)
        self.rows: list[dict[str, object]] = []
        super().__init__(folder)

    def say(self, least: int = 10, cordoned: str = "false", text: str | None = None) -> None:
        super().say(text=text or MANIFESTS.format(broker=self.broker.address, least=least))

    def feed(self, batches: int, end: bool = False) -> None:
        """Each is a second of event time, in both partitions."""
        for second in range(self.written, self.written + batches):
            for partition in (0, 1):
                times = [ORIGIN + timedelta(seconds=second, milliseconds=20 * i) for i in range(50)]
                texts: list[dict[str, object]] = []
                for i, at in enumerate(times):
                    row = {"k": i % 7, "v": (i * second + partition) % 50}
                    self.rows.append({**row, "ts": at})
                    texts.append({**row, "ts": at.isoformat()})
                self.topic.send_rows(texts, partition)
        self.written += batches


@pytest.fixture
def place(tmp_path: Path, broker: Broker) -> Iterator[TopicPlace]:
    it = TopicPlace(tmp_path, broker)
    yield it
    it.end()


def record(place: Place) -> Record:
    (placement,) = place.machine.cluster.store.placements()
    return read_record(placement)


def query(place: Place) -> DesiredQuery:
    """As it is asked for now."""
    return place.group().queries["default/sums"]


def ends(table: pa.Table) -> pa.ChunkedArray:
    """[us] Of the windows."""
    (column,) = (name for name in table.column_names if name.split(".")[-1].split("_")[-1] == "end")
    return table.column(column).cast(pa.timestamp("us")).cast(pa.int64())


def delivered(place: Place) -> pa.Table | None:
    """The sink's rows; None before there are any."""
    sink = query(place).ends.sink
    rows = sink_rows(sink, pa.table({}))
    return rows if rows.num_rows else None


def newest(place: Place) -> int:
    """[us] The latest end of a window in the sink."""
    rows = delivered(place)
    return 0 if rows is None else int(pc.max(ends(rows)).as_py())


def test_each_row_is_of_the_query_that_was_asked_for_at_its_time(place: TopicPlace) -> None:
    loop = place.machine.loop
    loop.settings = replace(loop.settings, change_lead=5.0)
    place.feed(25)
    place.until(lambda: place.running_on("n1") and newest(place) > 0, "rows of the old query")
    versions = [query(place)]
    flows = {spec.output.flow.kind for spec in record(place).specs if spec.output.flow}
    assert flows == {"topic"}

    def feeds_until_it_is_left() -> bool:
        place.feed(1)
        return not record(place).leaving and record(place).generation > 1

    place.say(least=30)
    place.until(feeds_until_it_is_left, "the cut is passed")
    cut = record(place).since
    assert cut
    place.feed(25)
    whole = (place.written - 2) // 10 * 10  # what the clock closes
    last = int((ORIGIN + timedelta(seconds=whole)).timestamp() * 1_000_000)
    place.until(lambda: newest(place) >= last, "the last window")

    versions.append(query(place))
    rows = {"c": SourceRows(pa.Table.from_pylist(place.rows, schema=SCHEMA), "ts", 1_000_000)}
    old, new = (batch(each.model.operators, rows) for each in versions)
    before = pc.less_equal(ends(old), cut)
    after = pc.and_(pc.greater(ends(new), cut), pc.less_equal(ends(new), last))
    parts = (old.filter(before), new.filter(after))
    assert all(part.num_rows for part in parts)
    assert not compare(old, new).good, "the edit matters"
    rows_there = delivered(place)
    assert rows_there
    names = [column.column for column in versions[0].ends.sink.columns] or old.column_names
    verdict = compare(
        pa.concat_tables(parts).select(names), rows_there.filter(pc.less_equal(ends(rows_there), last))
    )
    print(f"{verdict} of {verdict.rows} rows, {parts[0].num_rows} of them up to the cut")
    assert verdict.good, verdict.examples
