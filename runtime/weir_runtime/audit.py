"""The judge: what a query's sink holds against one batch query over the same input.

The batch query runs on another engine (DuckDB) and is made from the operators as they were written,
before any rewriting, so that neither a rewrite nor a fragment's compiler can be wrong in the same way
twice. The sources' files too are read by that engine, and none of the runtime's code. Late rows are left out
by the rule of the source (runtime.md, "Time").
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import isclose
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import FragmentError, FragmentSpec, Input, Output
from weir_placement.model.location import STORE
from weir_placement.model.operators import Aggregate, Filter, Join, Operator, Project, Union
from weir_placement.model.types import normalise

from weir_runtime.audit_logs import log_rows
from weir_runtime.duck import duck

TOLERANCE = 1e-9
"""Relative difference allowed between two sums of the same numbers added in another order."""


@dataclass(frozen=True)
class SourceRows:
    """One source of a query, as its log has it.

    Attributes:
        rows: the whole log in its order; a column `_partition` (optional) separates partitions.
        event_time: name of the event-time column.
        delay: [us] a row is late when it is older than the running maximum of its partition by more.
    """

    rows: pa.Table
    event_time: str
    delay: int


@dataclass(frozen=True)
class Verdict:
    """Counts of rows; `examples` are some rows of each sort that is not 0."""

    rows: int  # what the batch query gives
    missing: int  # rows of the batch query that the sink lacks
    doubled: int  # rows of the batch query that the sink has too often
    wrong: int  # rows of the sink that the batch query does not have at all
    examples: Mapping[str, tuple[tuple[Any, ...], ...]]
    repeated: int | None = None  # messages of a topic whose row id was there before; readers drop them

    @property
    def good(self) -> bool:
        """Nothing missing, doubled or wrong."""
        return not (self.missing or self.doubled or self.wrong)

    def __str__(self) -> str:
        again = f", written again {self.repeated}" if self.repeated is not None else ""
        return f"missing {self.missing}, doubled {self.doubled}, wrong {self.wrong}{again}"


def batch(operators: Iterable[Operator], sources: Mapping[str, SourceRows]) -> pa.Table:
    """The rows of the last operator, columns under their qualified names.

    Args:
        operators: in topological order; with none, the only source itself.
        sources: by alias.

    Raises:
        duckdb.Error: the operators do not fit the sources.
    """
    with duckdb.connect() as engine:
        last = ""
        for alias, source in sources.items():
            engine.register(f"log {alias}", _numbered(source))
            engine.execute(f"CREATE TABLE {_quoted(alias)} AS {_on_time(alias, source)}")
            last = alias
        times = {alias: f"{alias}.{source.event_time}" for alias, source in sources.items()}
        for operator in operators:
            engine.execute(f"CREATE TABLE {_quoted(operator.id)} AS {select(operator, times)}")
            last = operator.id
        return engine.sql(f"SELECT * FROM {_quoted(last)}").to_arrow_table()


def select(operator: Operator, times: Mapping[str, str]) -> str:
    """One operator as DuckDB SQL over tables named by its inputs; `times` are event-time columns by alias."""
    return SELECT[operator.kind](operator, [_quoted(name) for name in operator.inputs], times)


def _filter(operator: Filter, inputs: list[str], times: Mapping[str, str]) -> str:
    return f"SELECT * FROM {inputs[0]} WHERE {duck(operator.predicate)}"


def _project(operator: Project, inputs: list[str], times: Mapping[str, str]) -> str:
    items = ", ".join(f"{duck(item.expression)} AS {_quoted(item.name)}" for item in operator.items)
    return f"SELECT {items} FROM {inputs[0]}"


def _union(operator: Union, inputs: list[str], times: Mapping[str, str]) -> str:
    return " UNION ALL ".join(f"SELECT * FROM {name}" for name in inputs)


def _join(operator: Join, inputs: list[str], times: Mapping[str, str]) -> str:
    conditions = [duck(operator.on)] if operator.on else []
    conditions += [
        f"epoch_us({_quoted(times[w.left])}) - epoch_us({_quoted(times[w.right])}) "
        f"BETWEEN {w.lower} AND {w.upper}"
        for w in operator.windows
    ]
    return f"SELECT * FROM {inputs[0]} JOIN {inputs[1]} ON {' AND '.join(conditions) or 'true'}"


def _aggregate(operator: Aggregate, inputs: list[str], times: Mapping[str, str]) -> str:
    length, slide = round(operator.window * 1e6), round(operator.slide * 1e6)
    time = f"epoch_us({_quoted(operator.time)})"
    keys = "".join(f", {duck(item.expression)} AS {_quoted(item.name)}" for item in operator.items)
    results = "".join(
        f", {a.function}({duck(a.expression) if a.expression else '*'}) AS {_quoted(a.name)}"
        for a in operator.aggregations
    )
    names = "".join(f", {_quoted(item.name)}" for item in operator.items)
    newest = f"{time} - {time} % {slide}"  # event times are after 1970: no negative remainders
    starts = f"unnest(range({newest}, {time} - {length}, -{slide})) AS _start"
    windows = f"SELECT *{keys}, {starts} FROM {inputs[0]}"
    start, end = (
        'make_timestamp(_start) AS "window.start"',
        f'make_timestamp(_start + {length}) AS "window.end"',
    )
    return f"SELECT {start}, {end}{names}{results} FROM ({windows}) GROUP BY _start{names}"


SELECT: Mapping[str, Callable[[Any, list[str], Mapping[str, str]], str]] = {
    "filter": _filter,
    "project": _project,
    "join": _join,
    "aggregate": _aggregate,
    "union": _union,
}
"""By kind: the operator, its inputs' tables and event-time columns -> SQL."""


def compare(expected: pa.Table, actual: pa.Table) -> Verdict:
    """Both as multisets of rows; columns by position, floating numbers within TOLERANCE. O(rows)."""
    lacking, surplus = differences(expected, actual)
    expected_rows = _counted(expected)
    doubled = Counter({row: n for row, n in surplus.items() if row in expected_rows})
    wrong = surplus - doubled
    sorts = {"missing": lacking, "doubled": doubled, "wrong": wrong}
    return Verdict(
        expected.num_rows,
        missing=lacking.total(),
        doubled=doubled.total(),
        wrong=wrong.total(),
        examples={name: tuple(list(counter)[:3]) for name, counter in sorts.items() if counter},
    )


def differences(
    expected: pa.Table, actual: pa.Table
) -> tuple[Counter[tuple[Any, ...]], Counter[tuple[Any, ...]]]:
    """The rows that `actual` lacks, and those that it has besides; times in microseconds. As `compare`.
    Raises ValueError for other numbers of columns."""
    if expected.num_columns != actual.num_columns:
        raise ValueError(f"columns differ: expected {expected.column_names}, found {actual.column_names}")
    expected_rows, actual_rows = _counted(expected), _counted(actual)
    lacking, surplus = expected_rows - actual_rows, actual_rows - expected_rows
    _pair_up(lacking, surplus)
    return lacking, surplus


def _numbered(source: SourceRows) -> pa.Table:
    rows = source.rows
    for i, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):  # instants, whatever zone they are shown in
            rows = rows.set_column(i, field.name, rows.column(i).cast(pa.timestamp("us")))
    if "_partition" not in rows.column_names:
        rows = rows.append_column("_partition", pa.array([0] * rows.num_rows, pa.int64()))
    return rows.append_column("_position", pa.array(range(rows.num_rows), pa.int64()))


def _on_time(alias: str, source: SourceRows) -> str:
    names = [name for name in source.rows.column_names if name != "_partition"]
    columns = ", ".join(f"{_quoted(name)} AS {_quoted(f'{alias}.{name}')}" for name in names)
    time = f"epoch_us({_quoted(source.event_time)})"
    before = "PARTITION BY _partition ORDER BY _position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    return (
        f"SELECT {columns} FROM {_quoted(f'log {alias}')} "
        f"QUALIFY {time} >= coalesce(max({time}) OVER ({before}) - {source.delay}, {time})"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us")).cast(pa.int64())
        elif pa.types.is_floating(column.type):
            column = column.cast(pa.float64())
        columns.append(["NaN" if value != value else value for value in column.to_pylist()])
    return Counter(zip(*columns, strict=True))


def _pair_up(lacking: Counter[tuple[Any, ...]], surplus: Counter[tuple[Any, ...]]) -> None:
    """Take out of both what differs by less than TOLERANCE in floating numbers only."""
    alike: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in surplus:
        alike.setdefault(_rough(row), []).append(row)
    for row in list(lacking):
        for other in alike.get(_rough(row), []):
            if all(isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-12) for a, b in _floats(row, other)):
                both = min(lacking[row], surplus[other])
                lacking[row] -= both
                surplus[other] -= both
    for counter in (lacking, surplus):
        for row in [row for row, n in counter.items() if n <= 0]:
            del counter[row]


def _rough(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple("float" if isinstance(value, float) else value for value in row)


def _floats(row: tuple[Any, ...], other: tuple[Any, ...]) -> list[tuple[float, float]]:
    return [(a, b) for a, b in zip(row, other, strict=True) if isinstance(a, float)]


def audit(spec: FragmentSpec) -> Verdict:
    """The rows of files or of a topic against the batch query; `spec` has the query's sources (finite file
    logs) and all its operators. Raises FragmentError."""
    if spec.output.kind not in ("files", "kafka"):
        raise FragmentError(f"output.kind: {spec.output.kind!r}; an audit reads only files or a topic")
    expected = batch(spec.operators, {item.name: _read_source(item) for item in spec.inputs})
    if spec.output.columns:
        names = [(c.column, c.name) for c in spec.output.columns]
        expected = pa.table([expected.column(old) for old, _ in names], names=[new for _, new in names])
    if spec.output.kind == "kafka":
        from weir_runtime.audit_topics import topic_rows

        rows, repeated = topic_rows(spec.output.options, expected.schema)
        return replace(compare(expected, rows), repeated=repeated)
    tables = [pq.ParquetFile(file).read() for file in sink_files(spec.output)]
    return compare(expected, pa.concat_tables(tables) if tables else expected.slice(0, 0))


def sink_files(output: Output) -> list[Any]:
    """A files sink's, as pyarrow reads them: paths, or bodies of objects."""
    if output.files.kind != STORE:
        return sorted(Path(output.uri).glob("[!._]*.parquet"))
    from weir_runtime.store import ObjectStore

    store = ObjectStore(output.files.address, output.files.options)
    return [pa.BufferReader(store.read(name)) for name in store.names() if name.endswith(".parquet")]


def _read_source(item: Input) -> SourceRows:
    if "files" not in item.source:
        raise FragmentError(f"input {item.name}: an audit reads file logs, not {', '.join(item.source)}")
    columns = [(column.name, normalise(column.type)) for column in item.columns]
    rows = log_rows(item.source["files"], columns, item.event_time, item.max_ahead, item.start)
    return SourceRows(rows, item.event_time, item.delay)


def main(arguments: list[str]) -> int:
    """`python -m weir_runtime.audit SPEC.json`: prints the verdict; 0 good, 1 not, 2 a bad spec.

    SPEC.json is {"query", "inputs", "operators", "output"} as in a FragmentSpec, for the whole query.
    """
    if len(arguments) != 1:
        print("usage: python -m weir_runtime.audit SPEC.json", file=sys.stderr)
        return 2
    nobody = {"name": "audit", "namespace": "", "node": "", "epoch": 0}
    nowhere = {"checkpoint": "", "lease": "", "state": ""}
    try:
        raw = json.loads(Path(arguments[0]).read_text())
        verdict = audit(FragmentSpec.from_json(json.dumps({**nobody, **nowhere, **raw})))
    except (FragmentError, ValueError, OSError) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 2
    print(f"{verdict} of {verdict.rows} rows")
    for kind, rows in verdict.examples.items():
        print(*(f"  {kind}: {row}" for row in rows), sep="\n")
    return 0 if verdict.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
