"""The random queries that are run on Spark are worth running."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from weir_runtime.audit import SourceRows, batch

from tests.runtime.fragment_cases import FragmentCase, cases
from tests.runtime.support import ORIGIN, SCHEMA, Rows


def whole(log: list[Rows]) -> pa.Table:
    """Its rows in order."""
    rows = [{"k": k, "v": v, "ts": ORIGIN + t} for batch in log for k, v, t in batch]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def test_nine_in_ten_random_queries_have_rows() -> None:
    """In the source, and in the sink."""
    results = []

    @settings(max_examples=200, database=None)
    @given(case=cases())
    def count(case: FragmentCase) -> None:
        sources = {alias: SourceRows(whole(log), "ts", case.delay) for alias, log in case.logs.items()}
        results.append(batch(case.operators, sources).num_rows)

    count()
    assert len(results) == 200
    assert sum(rows > 0 for rows in results) >= 180
