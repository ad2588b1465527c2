"""The JSON contract between controller and runtime."""

import json
import string
from dataclasses import fields, replace
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.model.fragment import (
    FragmentError,
    FragmentSpec,
    Input,
    Output,
    OutputColumn,
    TypedColumn,
)
from weir_placement.model.location import Location
from weir_placement.model.operators import KINDS, Aggregate, Aggregation, Item, Join, Operator, Window

SOURCE = Input(
    "d",
    "source",
    stream="default/departures",
    source={"files": {"uri": "/data/departures", "format": "parquet"}},
    columns=(TypedColumn("carrier", "STRING"), TypedColumn("ts", "TIMESTAMP")),
    event_time="ts",
    delay=10_000_000,
)
SPEC = FragmentSpec(
    name="q1-j1",
    namespace="default",
    query="q1",
    node="n1",
    epoch=3,
    inputs=(SOURCE, Input("f1", "exchange", flow=Location("folder", "/x/f1"), start=4)),
    operators=(
        Join("j1", ("d", "f1"), on="d.carrier = w.carrier", windows=(Window("d", "w", -5, 7),)),
        Aggregate(
            "a1",
            ("j1",),
            items=(Item("carrier", "d.carrier"),),
            time="d.ts",
            window=60.0,
            slide=30.0,
            aggregations=(Aggregation("n", "count", None),),
        ),
    ),
    output=Output("files", uri="/out", columns=(OutputColumn("carrier", "carrier"),)),
    checkpoint="/ck",
    lease="/lease.json",
    state="/state.json",
)


def test_json_round_trip_is_exact() -> None:
    assert FragmentSpec.from_json(SPEC.to_json()) == SPEC


NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=3)
NUMBERS = {
    float: st.integers(0, 10**6) | st.floats(0, 1e12),  # who makes an operator may well say 1 for 1.0
    int: st.integers(0, 10**18),
}


def operators(kind: type[Operator]) -> st.SearchStrategy[Operator]:
    """Of one kind, all of its fields drawn, reading the source."""
    hints = get_type_hints(kind)
    drawn = {
        f.name: NUMBERS[hints[f.name]] if hints[f.name] in NUMBERS else st.from_type(hints[f.name])
        for f in fields(kind)
    }
    return st.builds(kind, **drawn | {"id": NAMES, "inputs": st.just(("d",))})


@st.composite
def specs(draw: st.DrawFn) -> FragmentSpec:
    drawn = draw(st.lists(st.one_of(*map(operators, KINDS.values())), max_size=4, unique_by=lambda op: op.id))
    return replace(
        SPEC,
        inputs=(SOURCE,),
        operators=tuple(op for op in drawn if op.id != "d"),
        lease_seconds=draw(NUMBERS[float]),
        executors=draw(st.integers(0, 3)),
        cores=draw(st.integers(1, 8)),
        output=replace(SPEC.output, after=draw(NUMBERS[int]), keep=draw(NUMBERS[int])),
    )


@given(specs())
def test_what_is_read_again_is_written_the_same(spec: FragmentSpec) -> None:
    """A build is a hash of the text: written from a plan and from the record of it, it must be one."""
    again = FragmentSpec.from_json(spec.to_json())
    assert again == spec
    assert again.to_json() == spec.to_json()


def test_a_flow_on_an_object_store_has_a_bucket_and_a_path() -> None:
    at = Location("store", "s3://bucket/flows/default/f1", {"region": "eu-west-1"})
    flow, written = Input("f1", "exchange", flow=at), Location("store", "s3://bucket/flows/default/f2")
    spec = replace(SPEC, inputs=(SOURCE, flow), output=Output("exchange", flow=written))
    assert FragmentSpec.from_json(spec.to_json()) == spec
    for wrong in ("s3://", "s3://bucket", "s3://bucket/", "s3:///f1", "s3://bucket//f1"):
        bad = replace(spec, inputs=(SOURCE, replace(flow, flow=replace(at, address=wrong))))
        with pytest.raises(FragmentError, match=r"fragment.inputs\[1\].exchange: .*write s3://bucket/path"):
            FragmentSpec.from_json(bad.to_json())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epoch": "3"}, "fragment.epoch: '3' is not of type int"),
        ({"inputs": []}, "fragment.inputs: empty"),
        ({"colour": 1}, "fragment.colour: no such field"),
        ({"name": "Q1"}, "fragment.name: 'Q1' is not a DNS label"),
        ({"output": {"kind": "ftp"}}, "fragment.output.kind: 'ftp' is not one of exchange, files"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], message: str) -> None:
    raw = json.loads(SPEC.to_json()) | change
    with pytest.raises(FragmentError, match=message.replace("(", r"\(")):
        FragmentSpec.from_json(json.dumps(raw))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "sort"}, "kind: 'sort' is not one of filter, project, join, aggregate, union"),
        ({"colour": 1}, "colour: no such field"),
        ({"windows": 1}, "windows: 1 is not a list"),
    ],
)
def test_a_wrong_field_of_an_operator_is_named(change: dict[str, object], message: str) -> None:
    raw = json.loads(SPEC.to_json())
    raw["operators"][0] |= change
    with pytest.raises(FragmentError, match=r"fragment.operators\[0\]." + message):
        FragmentSpec.from_json(json.dumps(raw))


def test_an_operator_has_a_kind() -> None:
    raw = json.loads(SPEC.to_json())
    del raw["operators"][0]["kind"]
    with pytest.raises(FragmentError, match=r"fragment.operators\[0\].kind: missing"):
        FragmentSpec.from_json(json.dumps(raw))


def test_fields_that_a_kind_has_not_any_more_are_read_over() -> None:
    """Earlier versions wrote the fields of all kinds for every operator, also a cost that decides nothing."""
    raw = json.loads(SPEC.to_json())
    raw["operators"][0] |= {"groups": 5.0, "slide": 0.0}
    assert FragmentSpec.from_json(json.dumps(raw)) == SPEC


def test_an_operator_reads_only_what_is_known() -> None:
    with pytest.raises(FragmentError, match=r"operators\[0\].inputs: 'x' is neither an input"):
        replace(SPEC, operators=(replace(SPEC.operators[0], inputs=("d", "x")),)).check()


def test_a_source_needs_its_event_time() -> None:
    with pytest.raises(FragmentError, match="'at' is not one of the columns carrier, ts"):
        replace(SPEC, inputs=(replace(SOURCE, event_time="at"), SPEC.inputs[1])).check()


def test_a_missing_field_is_named() -> None:
    raw = json.loads(SPEC.to_json())
    del raw["lease"]
    with pytest.raises(FragmentError, match=r"fragment.lease: missing"):
        FragmentSpec.from_json(json.dumps(raw))
