"""Joins whose condition Spark cannot use as a key."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_placement.model.operators import Join, Window

from tests.runtime.queries import check
from tests.runtime.sessions import Run
from tests.runtime.support import source, write_log

SECOND = 1_000_000


@pytest.mark.parametrize("on", ["a.v < b.v", "a.k = 1", "a.v + b.v = 12", "a.k <=> b.k"])
def test_a_join_runs_with_any_condition(run: Run, tmp_path: Path, on: str) -> None:
    rows = [[(i % 3, i, n * SECOND + i) for i in range(n, n + 4)] for n in range(1, 7)]
    sources = [source(alias, write_log(tmp_path / alias, rows)) for alias in "ab"]
    join = Join("j", ("a", "b"), on=on, windows=(Window("a", "b", -SECOND, SECOND),))
    result = check(run, tmp_path, sources, [join], ["a.k", "a.v", "b.k", "b.v"], max_batches=2)
    assert result.rows > 10
