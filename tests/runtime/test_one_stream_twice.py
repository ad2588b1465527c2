"""A stream that a query reads twice, as the union of two of its parts or joined with itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from weir_placement.model.operators import Filter, Join, Operator, Union, Window

from tests.runtime.queries import cut, verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.sessions import Run
from tests.runtime.support import append_batch, source

OVERLAP: list[Operator] = [
    Filter("f1", ("a",), predicate="a.v > 3"),
    Filter("f2", ("a",), predicate="a.v < 12"),
    Union("u", ("f1", "f2")),
]
SELF_JOIN = Join("j", ("a", "b"), on="a.k = b.k", windows=(Window("a", "b", -200_000, 200_000),))
SHAPES: dict[str, tuple[str, list[Operator], list[str]]] = {
    "union with itself": ("a", [Union("u", ("a", "a"))], ["a.k", "a.v", "a.ts"]),
    "count of a union": ("a", [*OVERLAP, replace(COUNT, inputs=("u",))], COLUMNS),
    "count of a self-join": ("ab", [SELF_JOIN, replace(COUNT, inputs=("j",))], COLUMNS),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_row_counts_as_often_as_it_is_read(run: Run, tmp_path: Path, shape: str) -> None:
    aliases, operators, columns = SHAPES[shape]
    for number in range(5):
        append_batch(tmp_path / "a", number, rows(number))
    (tmp_path / "a" / "END").touch()
    items = [replace(source(alias, tmp_path / "a"), stream="default/a") for alias in aliases]
    for spec in cut(tmp_path, items, operators, columns, max_batches=2):
        run(spec)
    result = verdict(tmp_path, items, operators, columns)
    assert result.good, f"{result} {result.examples}"
    assert result.rows
