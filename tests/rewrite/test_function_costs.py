"""What a projection computes counts: each function of the language has a measured cost."""

from dataclasses import replace

import pytest
from weir_operator.local.calibration import Calibration
from weir_placement.model.functions import BINARY, FUNCTIONS, NAMED
from weir_placement.model.operators import Filter, Item, Project
from weir_placement.model.streams import Stream
from weir_placement.model.types import parse_schema
from weir_placement.rewrite.function_costs import COSTS, computing, text_cost
from weir_placement.rewrite.projections import pushed
from weir_placement.rewrite.sql import query_from_sql

STREAMS = {
    f"d/{name}": Stream(
        f"d/{name}", 100, parse_schema("k BIGINT, v DOUBLE, s STRING, ts TIMESTAMP"), ("n",), 60, "ts"
    )
    for name in ("left", "right")
}


def project(sql: str) -> Project:
    top = query_from_sql("d/q", sql, STREAMS).operators[-1]
    assert isinstance(top, Project)
    return top


def test_a_projection_costs_what_it_computes() -> None:
    plain = project("SELECT k, s FROM left")
    heavy = project("SELECT k, md5(concat(s, CAST(v AS STRING))) AS h FROM left")
    parts = COSTS["MD5"] + COSTS["Concat"] + COSTS["cast to text"]
    assert heavy.cost - plain.cost == pytest.approx(parts)
    assert parts > plain.cost


def test_so_do_selections_and_aggregates() -> None:
    sql = "SELECT max(round(v, 2)) AS m FROM left WHERE {} GROUP BY window(ts, '1 minute'), upper(s)"
    (cheap, few, *_), (dear, *_) = (
        query_from_sql("d/q", sql.format(text), STREAMS).operators for text in ("k > 1", "md5(s) > 'a'")
    )
    assert dear.cost - cheap.cost == pytest.approx(COSTS["MD5"])
    assert computing(few) == pytest.approx(COSTS["Round"] + COSTS["Upper"])


def test_calibrated_costs_of_a_kind_leave_those_of_functions() -> None:
    query = query_from_sql("d/q", "SELECT md5(s) AS h FROM left", STREAMS)
    (op,) = Calibration({"project": 0.05}, read=2.0).query(query).operators
    assert op.cost == pytest.approx(2.05 + COSTS["MD5"])


def test_what_is_only_dropped_below_a_join_computes_nothing() -> None:
    sql = """SELECT md5(concat(l.s, r.s)) AS h FROM left l JOIN right r ON l.k = r.k
        AND l.ts BETWEEN r.ts - INTERVAL 1 SECOND AND r.ts"""
    for factor in (1.0, 3.0):  # as estimated, and as measured
        query = query_from_sql("d/q", sql, STREAMS)
        query = replace(query, operators=tuple(op.costing(factor) for op in query.operators))
        narrow = [
            op for op in pushed(query, STREAMS).operators if isinstance(op, Project) and not computing(op)
        ]
        assert len(narrow) == 2
        assert [op.cost for op in narrow] == pytest.approx([factor * 1.0] * 2)


def test_every_function_of_the_language_has_a_cost() -> None:
    assert {*FUNCTIONS, *NAMED, *BINARY} - {"DayOfMonth"} <= COSTS.keys()  # which the parser calls Day
    assert text_cost("day(a.ts)") > 0
    assert computing(Filter("f", ("a",), predicate="")) == 0
    assert computing(Project("p", ("a",), items=(Item("a.k", "a.k"),))) == 0
