"""A query over the auction house's streams: planned as the operator plans it, run, and judged by DuckDB."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings
from weir_placement.fragments import Layout, cut
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.plan import QueryPlan
from weir_runtime.audit import Verdict, compare

from tests.manifests.scene import node, obj
from tests.nexmark import events
from tests.runtime.feeding import files_read
from tests.runtime.support import wait_for


@dataclass(frozen=True)
class House:
    """Events by stream, and the folder in which their logs are or grow."""

    tables: Mapping[str, pa.Table]
    logs: Path
    pieces: int = 6  # files of each log

    def write(self) -> None:
        """All of the logs."""
        for piece in range(self.pieces):
            self.put(piece)

    def put(self, piece: int) -> None:
        """The next file of each log."""
        events.write(self.logs, self.tables, piece, self.pieces)

    def expected(self, judge: str) -> pa.Table:
        """DuckDB's rows."""
        with duckdb.connect() as engine:
            for name, table in self.tables.items():
                fields = [pa.field(f.name, _naive(f.type)) for f in table.schema]
                engine.register(name, table.cast(pa.schema(fields)))
            return engine.sql(judge).to_arrow_table()


def desired(logs: Path, sink: Path, query: Mapping[str, Any]) -> DesiredState:
    """What the controller makes of the three streams and one query."""
    streams = [
        obj(
            "Stream",
            name,
            {
                "schema": schema,
                "eventTime": {"column": "dateTime", "watermark": events.WATERMARK},
                "source": {"files": {"uri": str(logs / name)}},
                "rate": events.RATES[name],
                "statistics": {"distinct": events.DISTINCT.get(name, {})},
            },
        )
        for name, schema in events.STREAMS.items()
    ]
    manifest = obj("StreamQuery", "q", {**query, "sink": {"files": {"uri": str(sink)}}})
    return DesiredStateBuilder()(
        ObservedState(0.0, (node("n1"), *streams, manifest)), Settings(Layout(str(sink.parent)))
    )


def fragments(root: Path, logs: Path, query: Mapping[str, Any]) -> tuple[FragmentSpec, ...]:
    """Of the plan as written, all of it on one node."""
    state = desired(logs, root / "out", query)
    assert state.faults == {}
    (group,) = state.groups
    desired_query = group.queries["default/q"]
    plan = QueryPlan(
        desired_query.model,
        {operator.id: "n1" for operator in desired_query.model.operators},
        dict.fromkeys(desired_query.model.sources, "n1"),
        "n1",
    )
    layout = Layout(str(root))
    specs = cut(plan, group.problem.streams, desired_query.ends, layout)
    return tuple(replace(layout.stamp(spec, 1, "n1", False), trigger_ms=20) for spec in specs)


def refusal(query: Mapping[str, Any]) -> str:
    """What the query is told; empty when it can be planned."""
    faults = desired(Path("/logs"), Path("/out/q"), query).faults
    return faults["default/q"].message if faults else ""


def feed(house: House, reader: FragmentSpec) -> Callable[[], None]:
    """Starts to put one piece after the other in its place, the next when the reader has committed all of the
    one before; the returned function waits for the last."""
    sources = [item.name for item in reader.inputs if item.kind == "source"]
    failure: list[BaseException] = []

    def read() -> int:
        return min(files_read(reader, name) for name in sources)

    def put_all() -> None:
        try:
            for piece in range(house.pieces):
                wait_for(lambda wanted=piece: read() >= wanted, f"{piece} pieces are read")
                house.put(piece)
        except BaseException as error:
            failure.append(error)
            raise

    thread = threading.Thread(target=put_all, daemon=True)
    thread.start()

    def join() -> None:
        thread.join()
        assert not failure

    return join


def verdict(root: Path, expected: pa.Table) -> Verdict:
    """The sink's rows against DuckDB's."""
    files = sorted((root / "out").glob("[!._]*.parquet"))
    rows = (
        pa.concat_tables([pq.ParquetFile(file).read() for file in files]) if files else expected.slice(0, 0)
    )
    return compare(expected, rows)


def _naive(kind: pa.DataType) -> pa.DataType:
    """Instants as UTC without a zone, as the judge's statements take them."""
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind
