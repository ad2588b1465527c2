"""Names and hashes that a newer version must give as the first one did: else an upgrade would replace every
fragment, and read every stream again from its start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from weir_placement.fragments import Ends, Layout, cut
from weir_placement.model.fragment import FragmentSpec, Output, OutputColumn
from weir_placement.model.operators import Operator
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.types import parse_schema
from weir_runtime.plan import plan_hash

STREAM = Stream(
    name="a/clicks",
    rate=100.0,
    columns=parse_schema("k BIGINT, v DOUBLE, ts TIMESTAMP"),
    origins=("n1",),
    tuple_bytes=24.0,
    event_time="ts",
    delay=0.2,
)
OPERATORS = (
    Operator("f", "filter", ("c",), predicate="c.v > 1", selectivity=0.5, cost=1.0),
    Operator("g", "filter", ("f",), predicate="c.k > 2", selectivity=0.5, cost=1.0),
)
SINK = Output("kafka", "", {"bootstrapServers": "b:9092", "topic": "t"}, (OutputColumn("c.k", "k"),))
SOURCE = {"kafka": {"bootstrapServers": "b:9092", "topic": "clicks", "format": "json"}}


def fragments() -> tuple[FragmentSpec, ...]:
    """Two, so that a flow is among their inputs."""
    query = Query("a/q", {"c": "a/clicks"}, OPERATORS)
    plan = QueryPlan(query, {"f": "n1", "g": "n2"}, {"c": "n1"})
    return cut(plan, {"a/clicks": STREAM}, Ends({"c": SOURCE}, SINK, "uid"), Layout("/data"))


def test_fragments_keep_their_names() -> None:
    assert [spec.name for spec in fragments()] == ["q-f-07d50519", "q-g-fe8996f9"]


def test_checkpoints_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    schema = pa.schema([("c.k", pa.int64())])
    clocking = SimpleNamespace(to_json=lambda: {"shift": 1})

    def opened(spec: FragmentSpec) -> list[Any]:
        return [
            SimpleNamespace(spec=item, log=SimpleNamespace(schema=schema), clocking=clocking)
            for item in spec.inputs
        ]

    assert [plan_hash(spec, opened(spec)) for spec in fragments()] == ["2431dc761092", "c5912ca18b3f"]
