"""The registries of exchanges and sources: each kind has what its port asks for, and its tag is stored."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.model.fragment import FragmentError, FragmentSpec, Input, Output
from weir_placement.model.from_plain import build_plain
from weir_placement.model.location import Location, hashed_fields, stored
from weir_runtime import exchanges, sources
from weir_runtime.exchanges import backend, reader_of
from weir_runtime.exchanges.ports import Backend
from weir_runtime.sources import SourceKind


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize(
    ("package", "port"), [(exchanges, Backend), (sources, SourceKind)], ids=["exchange", "source"]
)
def test_every_kind_has_what_its_port_asks_for(package: Any, port: type[Any]) -> None:
    for kind in package.KINDS:
        module: ModuleType = import_module(f"{package.__name__}.{kind}")
        for name, function in inspect.getmembers(port, inspect.isfunction):
            if not name.startswith("_"):
                assert parameters(getattr(module, name)) == parameters(function), f"{kind}.{name}"


def test_a_tag_that_nobody_has_is_refused_by_name() -> None:
    with pytest.raises(FragmentError, match="exchange: 'ports' is not one of folder"):
        backend("ports")
    with pytest.raises(FragmentError, match="exchange: 'pigeon' is not one of"):
        reader_of(Input("f", "exchange", flow=Location("pigeon", "loft")))


LOCATIONS = st.builds(
    Location,
    st.sampled_from([*exchanges.KINDS, "pigeon"]),
    st.sampled_from(["/x", "s3://b/f", "weir.a.f"]) | st.text(),
    st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=2),
)


@given(LOCATIONS)
def test_a_location_of_any_kind_is_read_as_it_was_stored(location: Location) -> None:
    """Whatever its address and options look like: Location("folder", "/x", {"a": "b"}) is no topic."""
    for part in (Input("d", "exchange", flow=location), Output("exchange", flow=location)):
        raw = json.loads(json.dumps(part.stored()))
        assert build_plain(type(part), raw, "part") == part


@given(LOCATIONS, LOCATIONS)
def test_hashes_tell_locations_apart(one: Location, other: Location) -> None:
    """Though they leave out tags that versions before did not write."""
    hashed = [hashed_fields(stored(location, "uri"), "uri") for location in (one, other)]
    assert (hashed[0] == hashed[1]) == (one == other)


def test_another_tag_than_the_first_three_is_stored_as_it_is() -> None:
    """Its address may look like any of theirs."""
    for address, options in (("s3://b/f", {}), ("/x/f", {}), ("weir.a.f", {"bootstrapServers": "k:1"})):
        flow = Location("pigeon", address, options)
        spec = FragmentSpec(
            "f", "a", "q", "n", 1, (Input("d", "exchange", flow=flow),), (),
            Output("exchange", flow=replace(flow, options={"replication": 2})), "/c", "l", "s",
        )  # fmt: skip
        assert FragmentSpec.from_json(spec.to_json()) == spec
        assert json.loads(spec.to_json())["output"]["uri"] == address
