"""Equal streams have equal signatures: what was done to which streams counts, not how it was written."""

from __future__ import annotations

from dataclasses import replace

from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream
from weir_placement.network.plan_space import plan_space
from weir_placement.rewrite.sql import query_from_sql

from tests.cost.example import cluster
from tests.rewrite.random_queries import STREAMS


def signature(of: Query, streams: dict[str, Stream] = STREAMS) -> str:
    """Of a query's result."""
    return plan_space(Problem(cluster([1.0]), streams, (of,)), of).signatures[-1]


def joined(a: str, b: str, *filters: str, alias: tuple[str, str] = ("a", "b")) -> Query:
    x, y = alias
    where = "".join(f" AND {f}" for f in filters)
    return query_from_sql(
        "d/q",
        f"SELECT {x}.k AS k FROM {a} {x}, {b} {y} WHERE {x}.k = {y}.k{where} "
        f"AND {x}.ts BETWEEN {y}.ts - INTERVAL 5 SECONDS AND {y}.ts + INTERVAL 5 SECONDS",
        STREAMS,
    )


def test_order_and_aliases_do_not_matter() -> None:
    plain = joined("s", "t", "a.x = 1", "b.y > 2")
    assert signature(plain) == signature(joined("s", "t", "b.y > 2", "a.x = 1"))
    assert signature(plain) == signature(joined("s", "t", "q.y > 2", "p.x = 1", alias=("p", "q")))
    assert signature(plain) != signature(joined("s", "t", "a.x = 2", "b.y > 2"))
    assert signature(plain) != signature(joined("s", "s", "a.x = 1", "b.x > 2"))


def test_what_stands_in_a_string_is_no_alias() -> None:
    people = {"d/s": replace(STREAMS["d/s"], columns=(*STREAMS["d/s"].columns, Column("c", "STRING", 16)))}

    def name(alias: str, text: str) -> str:
        sql = f"SELECT {alias}.k AS k FROM s {alias} WHERE {alias}.c = '{text}'"
        return signature(query_from_sql("d/q", sql, people), people)

    assert name("a", "a.k") != name("p", "p.k")
    assert name("a", "a.k") == name("p", "a.k")
