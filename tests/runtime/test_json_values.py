"""What a sink writes as JSON: every value that a column can have."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from weir_runtime.json_values import json_values

INT64 = st.integers(-(2**63), 2**63 - 1)


def test_a_time_that_python_has_not_is_written_as_its_number() -> None:
    """A query may make one (a time and an interval): the batch would come again for ever."""
    far = 1_700_000_000_000_000_000
    table = pa.table(
        {
            "t": pa.array([far, 0, None], pa.timestamp("us", "UTC")),
            "n": pa.array([-far, 0, None], pa.timestamp("us")),
            "d": pa.array([2**31 - 1, 0, None], pa.date32()),
        }
    )
    assert json_values(table) == [
        {"t": far, "n": -far, "d": 2**31 - 1},
        {"t": "1970-01-01 00:00:00+00:00", "n": "1970-01-01 00:00:00", "d": "1970-01-01"},
        {"t": None, "n": None, "d": None},
    ]


@given(st.lists(st.tuples(INT64, INT64, st.integers(-(2**31), 2**31 - 1))))
def test_times_that_python_has_are_as_they_always_were(rows: list[tuple[int, int, int]]) -> None:
    times, plain, days = ([row[i] for row in rows] for i in range(3))
    columns = {
        "t": pa.array(times, pa.timestamp("us", "UTC")),
        "n": pa.array(plain, pa.timestamp("us")),
        "d": pa.array(days, pa.date32()),
    }
    for row, (t, n, d) in zip(json_values(pa.table(columns)), rows, strict=True):
        json.dumps(row)
        assert row["t"] == t or datetime.fromisoformat(row["t"]).tzinfo == UTC
        assert row["n"] == n or datetime.fromisoformat(row["n"])
        assert row["d"] == d or date.fromisoformat(row["d"])
