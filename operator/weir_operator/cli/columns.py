"""Tables of the command line: every name is whole, at any width."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

UNLIMITED = 1_000_000
GAP = 2
"""[characters] between two columns."""
RowCells = Sequence[str | Text]


@dataclass(frozen=True)
class TableColumn:
    """
    Attributes:
        number: it is aligned to the right.
        leaves: where the width does not suffice, the column with the lowest is left out first; 0: it stays.
        wraps: its words go on several lines where leaving out columns is not enough.
    """

    name: str
    number: bool = False
    leaves: int = 0
    wraps: bool = False


def console() -> Console:
    """Of standard output. What is piped has as long lines as it needs, one for a row, unless COLUMNS says
    otherwise, as `watch` does."""
    piped = not sys.stdout.isatty() and not os.environ.get("COLUMNS")
    return Console(highlight=False, width=UNLIMITED if piped else None)


def table(columns: Sequence[TableColumn], rows: Iterable[RowCells], width: int) -> RenderableType:
    """One table; see `tables`."""
    return next(tables(columns, {"": list(rows)}, width))[1]


def tables(
    columns: Sequence[TableColumn], rows: Mapping[str, Sequence[RowCells]], width: int
) -> Iterator[tuple[str, RenderableType]]:
    """(key, table) for each key of `rows`, the same columns in all. A row that is wider than `width` even
    without the columns that may be left out becomes a list of lines, one for each of its values."""
    all_rows = [row for part in rows.values() for row in part]
    widths = _widths(columns, all_rows, width)
    for key, part in rows.items():
        yield key, _table(columns, part, widths) if widths else _records(columns, part)


def _widths(columns: Sequence[TableColumn], rows: Sequence[RowCells], width: int) -> dict[int, int]:
    """By index, the widths of the columns that are shown; empty: they do not fit side by side."""
    full = {
        i: max(cell_len(str(text)) for text in (column.name, *(row[i] for row in rows)))
        for i, column in enumerate(columns)
    }
    leaving = sorted((column.leaves, i) for i, column in enumerate(columns) if column.leaves)
    while _total(full) > width and leaving:
        del full[leaving.pop(0)[1]]
    words = {i: [columns[i].name, *" ".join(str(row[i]) for row in rows).split()] for i in full}
    least = {i: max(map(cell_len, words[i])) for i in full if columns[i].wraps}
    while _total(full) > width:
        widest = max((i for i in least if full[i] > least[i]), key=lambda i: full[i], default=None)
        if widest is None:
            return {}
        full[widest] -= 1
    return full


def _total(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)


def _table(columns: Sequence[TableColumn], rows: Sequence[RowCells], widths: Mapping[int, int]) -> Table:
    shown = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for i, width in widths.items():
        shown.add_column(columns[i].name, justify="right" if columns[i].number else "left", width=width)
    for row in rows:
        shown.add_row(*(_text(row[i]) for i in widths))
    return shown


def _records(columns: Sequence[TableColumn], rows: Sequence[RowCells]) -> Table:
    """Name and value of each column, below one another; a longer value goes on in the next line."""
    grid = Table.grid(padding=(0, GAP, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for number, row in enumerate(rows):
        if number:
            grid.add_row()
        for column, value in zip(columns, row, strict=True):
            if str(value):
                grid.add_row(column.name, _text(value))
    return grid


def _text(value: str | Text) -> Text:
    """Names are no markup."""
    return value if isinstance(value, Text) else Text(value)
