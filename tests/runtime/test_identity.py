"""Names and hashes that a newer version must give as the first one did: else an upgrade would replace every
fragment, and read every stream again from its start."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from weir_operator.controller.record import pack, read_record, unpack
from weir_placement.fragments import Ends, Layout, cut, horizon
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.fragment import FragmentSpec, Output, OutputColumn
from weir_placement.model.location import TAG
from weir_placement.model.operator_form import semantics
from weir_placement.model.operators import Filter
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Stream
from weir_placement.model.types import parse_schema
from weir_placement.network.plan_space import plan_space
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
    Filter("f", ("c",), predicate="c.v > 1", selectivity=0.5, cost=1.0),
    Filter("g", ("f",), predicate="c.k > 2", selectivity=0.5, cost=1.0),
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


def stored() -> dict[str, Any]:
    """A Placement as the first version wrote it, with every kind of operator: a filter, a join with windows,
    projections, a union, an aggregate of sliding windows. Never write it anew."""
    manifest: dict[str, Any] = json.loads((Path(__file__).parent / "stored_placement.json").read_text())
    return manifest


def all_kinds() -> tuple[FragmentSpec, ...]:
    """The fragments of the stored plan, cut anew."""
    plan, _, _ = unpack(stored()["spec"]["plan"])
    assert plan is not None
    return cut(plan, {"a/clicks": STREAM}, Ends(dict.fromkeys("cde", SOURCE), SINK, "uid"), Layout("/data"))


def opened(spec: FragmentSpec) -> list[Any]:
    """A fragment's inputs as the runtime opens them, as far as the hash of its plan looks."""
    schema = pa.schema([("c.k", pa.int64())])
    clocking = SimpleNamespace(to_json=lambda: {"shift": 1})
    return [
        SimpleNamespace(spec=item, log=SimpleNamespace(schema=schema), clocking=clocking)
        for item in spec.inputs
    ]


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_checkpoints_keep_their_names() -> None:
    """Those of format 0, which had Spark's version in them, and today's."""
    assert [plan_hash(spec, opened(spec)) for spec in fragments()] == ["f002dfaac846", "c13a7405f163"]
    assert [plan_hash(spec, opened(spec), "4.2.0") for spec in fragments()] == [
        "2431dc761092",
        "c5912ca18b3f",
    ]


def test_fragments_of_every_kind_keep_their_names() -> None:
    assert [spec.name for spec in all_kinds()] == [
        "q-p-29dc896b",
        "q-r-a14479cc",
        "q-u-9614df10",
        "q-a-fc69c85f",
    ]


def test_checkpoints_of_every_kind_keep_their_names() -> None:
    assert [plan_hash(spec, opened(spec), "4.2.0") for spec in all_kinds()] == [
        "dab597c852fc",
        "0b491207caf0",
        "1b360bcd6dbc",
        "524362ed8b3f",
    ]


def test_texts_of_specs_stay() -> None:
    """A process is started anew when the text differs that its build is a hash of."""
    assert [short_hash(spec.identity_text()) for spec in all_kinds()] == [
        "bd1914bfe33d",
        "933ebbe26391",
        "acdd01499e87",
        "9c9f1fd34af9",
    ]
    assert all(FragmentSpec.from_json(spec.to_json()) == spec for spec in all_kinds())


def test_what_decides_rows_stays() -> None:
    """A hash of it tells an edited query."""
    plan, _, _ = unpack(stored()["spec"]["plan"])
    assert plan is not None
    deciding = json.dumps([semantics(op) for op in plan.query.operators], default=vars, sort_keys=True)
    assert short_hash(deciding) == "80f64f8ad74e"
    assert horizon(plan.query) == 65_000_000


def untagged(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A Placement's spec without the tags of flows, which later versions added."""

    def without(fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if name != TAG}

    return json.loads(json.dumps(spec), object_hook=without)  # type: ignore[no-any-return]


def test_a_stored_placement_is_read_and_written_as_it_was() -> None:
    record = read_record(stored())
    assert record.specs == all_kinds()
    assert record.plan is not None
    plan = stored()["spec"]["plan"]
    assert pack(record.plan, record.boundaries, record.source) == {
        key: plan[key] for key in ("source", "boundaries", "placed")
    }
    again = record.placement([], record.specs)
    assert TAG not in json.dumps(stored())
    assert json.dumps(untagged(again.spec)) == json.dumps(stored()["spec"])


def test_shared_streams_keep_their_signatures() -> None:
    """Placements say by them which operators several queries share."""
    plan, _, _ = unpack(stored()["spec"]["plan"])
    assert plan is not None
    cluster = Cluster((Node("n1", 1.0),), Network.uniform(1))
    space = plan_space(Problem(cluster, {"a/clicks": STREAM}, (plan.query,)), plan.query)
    assert [short_hash(signature) for signature in space.signatures] == [
        "340eff3f8e92",
        "340eff3f8e92",
        "340eff3f8e92",
        "fb9efb72eb4d",
        "e63f5df9b8d1",
        "ac7f7cfbdbc9",
        "f30cd0438bae",
        "391c22b0e104",
        "f0a9db6ca7ca",
    ]
