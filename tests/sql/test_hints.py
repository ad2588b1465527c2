"""The share of a stream's rows that WHERE keeps, where the writer knows it: a hint, and never a guess."""

from __future__ import annotations

from math import prod

import pytest
from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.operator_form import semantics
from weir_placement.model.operators import Filter
from weir_placement.model.streams import Stream
from weir_placement.rewrite.sql import query_from_sql

Streams = dict[str, Stream]
JOIN = (
    "FROM bids b JOIN auctions a ON b.auction = a.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 SECONDS "
    "WHERE a.category = 10 AND b.price > 100 AND b.bidder < 7 AND b.price < a.seller"
)


def selectivities(sql: str, streams: Streams) -> dict[str, float]:
    operators = query_from_sql("d/q", sql, streams).operators
    return {op.predicate: op.selectivity for op in operators if isinstance(op, Filter)}


def test_of_the_only_stream(streams: Streams) -> None:
    sql = "SELECT /*+ SELECTIVITY(0.02) */ price FROM bids WHERE price > 100"
    assert selectivities(sql, streams) == {"bids.price > 100": 0.02}


def test_of_a_stream_by_its_alias_in_any_case(streams: Streams) -> None:
    plain = selectivities(f"SELECT b.price {JOIN}", streams)
    hinted = selectivities(f"SELECT /*+ Selectivity(B, 0.01) */ b.price {JOIN}", streams)
    of_b = {text for text in plain if text.startswith("b.") and "a." not in text}
    assert len(of_b) == 2
    assert prod(hinted[text] for text in of_b) == pytest.approx(0.01)
    assert {t: s for t, s in hinted.items() if t not in of_b} == {
        t: s for t, s in plain.items() if t not in of_b
    }


def test_conditions_share_it_as_their_estimates_do(streams: Streams) -> None:
    """An equality stays narrower than a comparison."""
    where = "FROM bids WHERE auction = 7 AND price > 100"
    plain = selectivities(f"SELECT price {where}", streams)
    hinted = selectivities(f"SELECT /*+ SELECTIVITY(0.5) */ price {where}", streams)
    assert prod(hinted.values()) == pytest.approx(0.5)
    assert hinted["bids.auction = 7"] < hinted["bids.price > 100"] < 1
    assert plain["bids.auction = 7"] < plain["bids.price > 100"]


def test_a_filter_that_keeps_everything(streams: Streams) -> None:
    sql = "SELECT /*+ SELECTIVITY(1) */ price FROM bids WHERE price > 100 AND TRUE"
    assert selectivities(sql, streams) == {"bids.price > 100": 1.0}


def test_several_with_and_without_a_comma(streams: Streams) -> None:
    for between in (", ", " "):
        sql = f"SELECT /*+ SELECTIVITY(b, 0.5){between}SELECTIVITY(a, 1e-3) */ b.price {JOIN}"
        assert selectivities(sql, streams)["a.category = 10"] == pytest.approx(0.001)


def test_of_each_branch_of_a_union_with_its_own_hint(streams: Streams) -> None:
    one = "SELECT /*+ SELECTIVITY({}) */ price FROM bids WHERE price > {}"
    sql = f"{one.format(0.1, 1)} UNION ALL {one.format(0.2, 2)}"
    assert list(selectivities(sql, streams).values()) == [0.1, 0.2]


def test_rows_and_the_state_of_a_query_do_not_depend_on_it(streams: Streams) -> None:
    plain = query_from_sql("d/q", "SELECT price FROM bids WHERE price > 1", streams)
    hinted = query_from_sql("d/q", "SELECT /*+ SELECTIVITY(0.9) */ price FROM bids WHERE price > 1", streams)
    assert plain != hinted
    assert [semantics(op) for op in plain.operators] == [semantics(op) for op in hinted.operators]


RIGHT = "write /*+ SELECTIVITY(0.1) */, or with a stream SELECTIVITY(bids, 0.1)"
WRONG = [
    # hint, column, message
    ("SELECTIVITY(1.5)", 24, "a selectivity is above 0 and at most 1, not 1.5"),
    ("SELECTIVITY(0)", 24, "a selectivity is above 0 and at most 1, not 0"),
    ("SELECTIVITY(bid, 0.1)", 24, "there is no stream bid in FROM; did you mean bids?"),
    ("SELECTIVITY(bids)", 12, f"SELECTIVITY needs a share; {RIGHT}"),
    ("SELECTIVITY(bids, price)", 12, f"SELECTIVITY needs a share; {RIGHT}"),
    ("SELECTIVITY(bids, 0.1, 2)", 12, f"SELECTIVITY needs a share; {RIGHT}"),
    ("SELECTIVITY(bids, 0.1), SELECTIVITY(bids, 0.2)", 36, "bids has two selectivities; keep one"),
    ("SELECTIVITY(bids 0.1)", 8, f"the hint cannot be read; {RIGHT}"),
    ("SELECTIVITY", 8, f"the hint cannot be read; {RIGHT}"),
    ("BROADCAST(bids)", 12, "the hint BROADCAST is not supported: the planner decides; SELECTIVITY is"),
    (" ", 8, "the hint is empty; write /*+ SELECTIVITY(0.1) */"),
]


@pytest.mark.parametrize(("hint", "column", "message"), WRONG, ids=[hint for hint, _, _ in WRONG])
def test_a_wrong_hint_is_refused_at_its_place(streams: Streams, hint: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        query_from_sql("d/q", f"SELECT /*+ {hint} */ price\nFROM bids WHERE price > 1", streams)
    assert error.value.reason == message
    assert (error.value.line, error.value.column) == (1, column)


def test_a_hint_for_which_there_is_nothing_to_do_is_refused(streams: Streams) -> None:
    with pytest.raises(ExpressionError, match="bids has no condition of its own in WHERE or ON") as error:
        query_from_sql("d/q", "SELECT /*+ SELECTIVITY(0.1) */ price FROM bids", streams)
    assert error.value.column == 24


def test_several_streams_need_a_name(streams: Streams) -> None:
    with pytest.raises(ExpressionError, match=r"name the stream, as SELECTIVITY\(b, 0.1\)"):
        query_from_sql("d/q", f"SELECT /*+ SELECTIVITY(0.1) */ b.price {JOIN}", streams)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT price FROM bids WHERE price > 1 /*+ SELECTIVITY(0.1) */",
        "SELECT price /*+ SELECTIVITY(0.1) */ FROM bids WHERE price > 1",
        "/*+ SELECTIVITY(0.1) */ SELECT price FROM bids WHERE price > 1",
    ],
)
def test_a_hint_elsewhere_is_refused_and_not_taken_for_a_comment(streams: Streams, sql: str) -> None:
    with pytest.raises(ExpressionError, match="a hint is written right after SELECT") as error:
        query_from_sql("d/q", sql, streams)
    assert error.value.column == sql.index("/*+") + 1


def test_comments_and_strings_are_no_hints(streams: Streams) -> None:
    sql = "SELECT p.name /* x /*+ y */ */ -- /*+ x */\nFROM people p WHERE p.name = '/*+ y */'"
    assert len(selectivities(sql, streams)) == 1
