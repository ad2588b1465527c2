"""What a source does about lost rows and silence is no part of what its query is: it goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from weir_placement.fragments import Ends, Layout, cut
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Query
from weir_runtime.plan import plan_hash

from tests.runtime.test_identity import OPERATORS, SINK, SOURCE, STREAM


def first(source: Mapping[str, Any], idle: float = 0.0) -> FragmentSpec:
    """The fragment that reads the source."""
    plan = QueryPlan(Query("a/q", {"c": "a/clicks"}, OPERATORS), {"f": "n1", "g": "n2"}, {"c": "n1"})
    streams = {"a/clicks": replace(STREAM, idle=idle)}
    return cut(plan, streams, Ends({"c": source}, SINK, "uid"), Layout("/data"))[0]


def hash_of(spec: FragmentSpec) -> str:
    log = SimpleNamespace(schema=pa.schema([("c.k", pa.int64())]))
    clocking = SimpleNamespace(to_json=lambda: {"shift": 1})
    return plan_hash(spec, [SimpleNamespace(spec=spec.inputs[0], log=log, clocking=clocking)])  # type: ignore[list-item]


def test_names_and_hashes_stay_and_the_process_is_told() -> None:
    plain = first(SOURCE)
    changed = first({"kafka": {**SOURCE["kafka"], "onDataLoss": "Continue"}}, idle=30.0)
    assert (changed.name, hash_of(changed)) == (plain.name, hash_of(plain))
    assert changed.to_json() != plain.to_json()
    assert changed.inputs[0].idle == 30_000_000
    assert FragmentSpec.from_json(changed.to_json()) == changed
    assert "idle" not in plain.to_json()
    files = {"uri": "in", "format": "csv"}
    patient = first({"files": {**files, "onDataLoss": "Continue"}})
    assert (patient.name, hash_of(patient)) == (
        first({"files": files}).name,
        hash_of(first({"files": files})),
    )


def test_where_a_query_begins_is_part_of_it() -> None:
    assert first({"kafka": {**SOURCE["kafka"], "startingOffsets": "latest"}}).name != first(SOURCE).name
