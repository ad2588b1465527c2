"""What a run gave beside what the test expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from rich.table import Table
from weir_placement.model.suggestion import suggestion
from weir_runtime.arrow_types import type_name
from weir_runtime.audit import differences
from weir_runtime.audit_logs import json_lines

from weir_operator.manifests.finding import Finding, ManifestError
from weir_operator.testing.cases import RowCase, json_line

MOST = 20
"""Rows of each sort that are shown."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class RowDifference:
    """Rows with their multiplicities, times in microseconds.

    Attributes:
        schema: of the result.
        missing: rows expected that did not come out.
        unexpected: rows that came out and were not expected.
    """

    schema: pa.Schema
    missing: Counter[tuple[Any, ...]]
    unexpected: Counter[tuple[Any, ...]]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected)

    def table(self) -> Table:
        """The rows below one another, alike ones together: `-` is missing, `+` unexpected."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("")
        for field in self.schema:
            table.add_column(field.name, overflow="fold")
        signs = (("-", self.missing, "red"), ("+", self.unexpected, "green"))
        rows = [(self._shown(row), sign, style) for sign, c, style in signs for row in c.elements()]
        for values, sign, style in sorted(rows, key=lambda row: (row[0], row[1] != "-"))[: 2 * MOST]:
            table.add_row(sign, *values, style=style)
        return table

    def summary(self) -> str:
        """Numbers of rows, and the signs that `table` has for them."""
        parts = [(self.missing.total(), "missing (-)"), (self.unexpected.total(), "unexpected (+)")]
        return ", ".join(f"{count} {what}" for count, what in parts if count)

    def _shown(self, row: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple(_shown(value, field.type) for value, field in zip(row, self.schema, strict=True))


def _shown(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return "null"
    if pa.types.is_timestamp(kind):
        return (
            (EPOCH + timedelta(microseconds=value)).strftime("%Y-%m-%dT%H:%M:%S.%fZ").replace(".000000", "")
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


def expected_table(case: RowCase, result: pa.Schema) -> pa.Table:
    """The expected rows with the types of the query's result.

    Raises:
        ManifestError: a row has other columns, or a value of another type.
    """
    findings, names = [], result.names
    columns = [(field.name, type_name(field.type)) for field in result]
    for i, row in enumerate(case.expected):
        path = f"spec.expected[{i}]"
        for name in row.keys() - set(names):
            wrong = f"the query has no column {name}"
            findings.append(case.finding(f"{path}.{name}", wrong, suggestion(name, names, "columns")))
        if missing := [name for name in names if name not in row]:
            right = f"write every column of the result: {', '.join(names)}"
            findings.append(case.finding(path, f"{', '.join(missing)} is not written", right))
        elif not json_lines([json_line(row)], columns).num_rows:
            right = f"the result's types are {', '.join(f'{name} {kind}' for name, kind in columns)}"
            findings.append(case.finding(path, "a value has another type", right))
    _raise(findings)
    return json_lines([json_line(row) for row in case.expected], columns)


def _raise(findings: Sequence[Finding]) -> None:
    if findings:
        raise ManifestError(findings)


def difference(expected: pa.Table, actual: pa.Table | None) -> RowDifference:
    """None: nothing came out."""
    rows = expected.slice(0, 0) if actual is None else actual.select(expected.column_names)
    return RowDifference(expected.schema, *differences(expected, rows))
