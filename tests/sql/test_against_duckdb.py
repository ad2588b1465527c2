"""The operators made of a statement give the rows that another engine gives for the statement itself."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rewrite.random_queries import STREAMS, TIMES, query, rows, select
from tests.rewrite.rows import run

TYPES = {"INT": "INTEGER", "BIGINT": "BIGINT", "TIMESTAMP": "TIMESTAMP"}


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, stream in STREAMS.items():
        columns = ", ".join(f'"{c.name}" {TYPES[c.type]}' for c in stream.columns)
        connection.execute(f"CREATE TABLE {name.removeprefix('d/')} ({columns})")
    return connection


def in_duckdb(database: duckdb.DuckDBPyConnection, sql: str, data: dict[str, list]) -> Counter:
    """The statement's rows; times as microseconds. Spark's window() is duckdb's time_bucket."""
    for name, stream in STREAMS.items():
        table = name.removeprefix("d/")
        database.execute(f"DELETE FROM {table}")
        for row in data[name]:
            values = ["make_timestamp(?)" if c.type == "TIMESTAMP" else "?" for c in stream.columns]
            database.execute(f"INSERT INTO {table} VALUES ({', '.join(values)})", list(row.values()))
    grouped = re.search(r"window\(([\w.]+), '(\d+ seconds)'\)", sql)
    if grouped:
        bucket = f"time_bucket(INTERVAL '{grouped[2]}', {grouped[1]})"
        sql = sql.replace(grouped[0], bucket).replace("window.start", bucket)
    result = database.execute(sql)
    names = [(d[0], d[1] == "TIMESTAMP" or str(d[1]) == "TIMESTAMP") for d in result.description]
    counts: Counter[tuple[tuple[str, Any], ...]] = Counter()
    for row in result.fetchall():
        present = {
            name: round(value.timestamp() * 1e6) if is_time and value is not None else value
            for (name, is_time), value in zip(names, [_utc(v) for v in row], strict=True)
        }
        counts[tuple(sorted(present.items()))] += 1
    return counts


def _utc(value: Any) -> Any:
    from datetime import UTC, datetime

    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_operators_mean_what_the_statement_means(
    database: duckdb.DuckDBPyConnection, random: Random
) -> None:
    graph, data = query(random), rows(random)
    assert run(graph.query, data, TIMES) == in_duckdb(database, graph.sql, data), graph.sql


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False))
def test_union_all(database: duckdb.DuckDBPyConnection, random: Random) -> None:
    from weir_placement.rewrite.sql import query_from_sql

    parts = []
    while len(parts) < 2:
        sql = select(random, 2, grouped=False)
        sql = re.sub(r"SELECT .* FROM", "SELECT a.k AS k, a.k + 1 AS l FROM", sql)
        try:
            query_from_sql("d/q", sql, STREAMS)
        except ValueError:
            continue
        parts.append(sql)
    whole, data = " UNION ALL ".join(parts), rows(random)
    parsed = query_from_sql("d/q", whole, STREAMS)
    assert run(parsed, data, TIMES) == in_duckdb(database, whole, data), whole
