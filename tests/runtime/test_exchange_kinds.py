"""The registries of exchanges and sources: each kind has what its port asks for, and its tag is stored."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from weir_placement.model.fragment import FragmentError, FragmentSpec, Input, Output
from weir_placement.model.location import Location
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
