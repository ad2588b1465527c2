"""Why a row cannot be read: the column, the value as it is written, and what would be right."""

from __future__ import annotations

import pyarrow as pa
import pytest
from weir_runtime.logs import csv_rows, json_rows

SCHEMA = pa.schema(
    [
        pa.field("n", pa.int64()),
        pa.field("t", pa.float64()),
        pa.field("s", pa.string()),
        pa.field("d", pa.date32()),
        pa.field("ts", pa.timestamp("us", tz="UTC")),
    ]
)
ISO = "; write ISO 8601, as 2026-01-31T12:00:00Z, or name the unit of numbers in unixTimes"
TS = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ('"n": "x"', 'column n: "x" cannot be read as BIGINT'),
        ('"n": 1.5', "column n: 1.5 cannot be read as BIGINT"),
        (
            '"n": 99999999999999999999',
            "column n: 99999999999999999999 cannot be read as BIGINT; it is beyond BIGINT: "
            "declare DECIMAL(38,0)",
        ),
        ('"n": 1, "t": "hot"', 'column t: "hot" cannot be read as DOUBLE'),
        ('"s": 7', "column s: 7 cannot be read as STRING"),
        ('"n": [1]', "column n: [1] cannot be read as BIGINT"),
        ('"d": "31.01.2026"', 'column d: "31.01.2026" cannot be read as DATE; write 2026-01-31'),
        ('"t": 1, "ts": 1767225600000', f"column ts: 1767225600000 cannot be read as TIMESTAMP{ISO}"),
        ('"ts": "31.01.2026"', f'column ts: "31.01.2026" cannot be read as TIMESTAMP{ISO}'),
    ],
)
def test_json(fields: str, reason: str) -> None:
    when = "" if '"ts"' in fields else f', "ts": "{TS}"'
    parsed = json_rows.parse([f"{{{fields}{when}}}".encode()], SCHEMA, "ts", None)
    assert [bad.reason for bad in parsed.bad] == [reason]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f"x,1,a,2026-01-01,{TS}", "column n: x cannot be read as BIGINT"),
        (f'"1,5",1,a,2026-01-01,{TS}', "column n: 1,5 cannot be read as BIGINT"),
        (f"1,hot,a,2026-01-01,{TS}", "column t: hot cannot be read as DOUBLE"),
        (f"1,1,a,31.01.2026,{TS}", "column d: 31.01.2026 cannot be read as DATE; write 2026-01-31"),
        ("1,1,a,2026-01-01,1767225600000", f"column ts: 1767225600000 cannot be read as TIMESTAMP{ISO}"),
        ("1,1,a,2026-01-01", "4 values for 5 columns"),
    ],
)
def test_csv(row: str, reason: str) -> None:
    good = f"1,1.5,a,2026-01-01,{TS}"
    parsed = csv_rows.parse(f"n,t,s,d,ts\n{good}\n{row}\n{good}\n".encode(), SCHEMA, "ts", None)
    assert [(bad.position, bad.reason) for bad in parsed.bad] == [(1, reason)]
    assert parsed.rows.num_rows == 2


def test_a_long_value_is_cut() -> None:
    parsed = json_rows.parse([f'{{"n": "{"x" * 500}", "ts": "{TS}"}}'.encode()], SCHEMA, "ts", None)
    assert parsed.bad[0].reason == f'column n: "{"x" * 59}... cannot be read as BIGINT'


def test_a_row_whose_values_fit_one_by_one_keeps_the_reason_of_the_parser() -> None:
    (bad,) = json_rows.parse([b"not json"], SCHEMA, "ts", None).bad
    assert bad.reason == "not a JSON object"
