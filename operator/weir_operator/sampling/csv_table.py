"""The values of a CSV file with the lines of its rows, and what is wrong with the file as a whole."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from weir_placement.model.amounts import count
from weir_runtime.logs.csv_rows import MOST

from weir_operator.sampling.sample_error import SampleError

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
SEPARATORS = {"';'": ";", "tabs": "\t", "'|'": "|"}


@dataclass(frozen=True)
class CsvTable:
    """`values` by column, null where nothing is written; rows with too few or too many values give none.
    `lines`: the line in which each row begins, of all rows."""

    values: dict[str, list[str | None]]
    lines: list[int]


def read(text: str, path: Path, whole: bool) -> CsvTable:
    """The rows below the header. `whole`: the text is all of the file.

    Raises:
        SampleError: it names the file, and the line where there is one.
    """
    csv.field_size_limit(MOST)
    rows = csv.reader(io.StringIO(text, newline=""))
    header = next(rows, None)
    if not header:
        raise SampleError(f"{path}: is empty; the first line must have the columns' names")
    _check_header(header, path)
    if whole and (opened := unclosed(text)):
        raise SampleError(f'{path}:{opened}: a " opens here that nothing closes; write "" for a " in a value')
    values: dict[str, list[str | None]] = {name: [] for name in header}
    lines, ragged, end = [], [], rows.line_num
    for row in rows:
        begin, end = end + 1, rows.line_num
        if not row:
            continue
        lines.append(begin)
        if len(row) != len(header):
            ragged.append((begin, len(row)))
            row = []
        for name, value in zip_longest(header, row):
            values[name].append(value or None)
    if not lines:
        raise SampleError(f"{path}: has no rows below its header; a sample needs some")
    if 2 * len(ragged) > len(lines):
        line, number = ragged[0]
        wrong = f"has {number} values for the {count(len(header), 'column')} of line 1"
        raise SampleError(f"{path}:{line}: {wrong}; put values with commas in double quotes")
    return CsvTable(values, lines)


def _check_header(header: list[str], path: Path) -> None:
    if other := [name for name, sign in SEPARATORS.items() if len(header) == 1 and sign in header[0]]:
        raise SampleError(f"{path}:1: separates values by {other[0]}; write a CSV with commas")
    if twice := [name for name in header if header.count(name) > 1]:
        raise SampleError(f"{path}:1: has column {twice[0]} more than once; give each its own name")
    if any(_TIME.match(name) for name in header):
        wrong = f"{','.join(header)[:60]} is a row of values, not of names"
        raise SampleError(f"{path}:1: {wrong}; the first line must have the columns' names")
    if all(any(c.isdigit() for c in name) and not any(c.isalpha() for c in name) for name in header):
        wrong = f"{','.join(header)[:60]} has no names"
        raise SampleError(f"{path}:1: {wrong}; the first line must have the columns' names")


def unclosed(text: str) -> int:
    """The line of the quote that nothing closes; 0: there is none.

    >>> unclosed('a,b\\n1,"x\\n2,y\\n'), unclosed('a,b\\n1,"x\\ny"\\n')
    (2, 0)
    """
    newest = deque(csv.reader(io.StringIO(text, newline="")), maxlen=1)
    last = newest[0] if newest else []
    if not last or "\n" not in last[-1]:
        return 0
    line = text.count("\n") - last[-1].count("\n") + 1
    try:
        for _ in csv.reader(text.splitlines(keepends=True)[line - 1 :], strict=True):
            pass
    except csv.Error as error:
        return line if "unexpected end" in str(error) else 0
    return 0
