"""What is not supported is refused with the clause and its place, never ignored."""

import pytest
from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.streams import Stream
from weir_placement.rewrite.sql import query_from_sql

JOIN = "SELECT x.price FROM bids x JOIN bids y ON"
GROUP = "FROM bids x GROUP BY window(ts, '5 minutes')"

REFUSED = [
    # statement, (line, column), part of the message
    ("SELECT price FROM bids\nORDER BY price", (2, 1), "ORDER BY"),
    ("SELECT price FROM bids LIMIT 3", (1, 24), "LIMIT"),
    ("SELECT price FROM bids LIMIT 3 OFFSET 2", None, "LIMIT|OFFSET"),
    ("SELECT DISTINCT price FROM bids", (1, 8), "DISTINCT"),
    ("SELECT price FROM bids SORT BY price", (1, 24), "SORT BY"),
    ("SELECT price FROM bids DISTRIBUTE BY price", (1, 24), "DISTRIBUTE BY"),
    ("SELECT price FROM bids CLUSTER BY price", (1, 24), "CLUSTER BY"),
    ("SELECT price FROM bids QUALIFY price > 1", None, "QUALIFY"),
    ("SELECT price FROM bids WINDOW w AS (ORDER BY price)", (1, 24), "WINDOW"),
    ("SELECT /*+ BROADCAST(a) */ price FROM bids", (1, 12), "hint"),
    ("WITH t AS (SELECT 1) SELECT price FROM bids", (1, 1), "WITH"),
    ("SELECT price FROM bids TABLESAMPLE (10 PERCENT)", (1, 24), "TABLESAMPLE"),
    ("SELECT price FROM bids VERSION AS OF 3", None, "VERSION"),
    ("SELECT price FROM bids LATERAL VIEW explode(price) t AS y", (1, 24), "LATERAL"),
    ("SELECT price INTO t FROM bids", (1, 14), "INTO"),
    ("SELECT price FROM (SELECT * FROM bids) x", (1, 27), "subquery in FROM"),
    ("SELECT price FROM range(5)", None, "FROM needs a stream"),
    ("SELECT price FROM VALUES (1) AS t(price)", None, "FROM needs a stream"),
    ("SELECT price FROM parquet.`/etc/x`", (1, 19), "cannot qualify"),
    ("SELECT price FROM a.b.bids", None, "FROM needs a stream"),
    ("SELECT 1", (1, 1), "FROM is missing"),
    ("DROP TABLE bids", None, "DROP"),
    ("INSERT INTO bids SELECT 1", None, "INSERT"),
    ("SELECT price FROM bids; SELECT 1", (1, 23), "one statement"),
    ("SELECT price FROM bids UNION SELECT price FROM bids", (1, 24), "UNION ALL"),
    ("SELECT price FROM bids INTERSECT SELECT price FROM bids", (1, 24), "INTERSECT"),
    ("SELECT price FROM bids EXCEPT SELECT price FROM bids", (1, 24), "EXCEPT"),
    ("SELECT price FROM bids UNION ALL SELECT price FROM bids LIMIT 1", (1, 57), "LIMIT"),
    ("SELECT price FROM bids UNION ALL SELECT auction FROM bids", (1, 41), "CAST"),
    ("SELECT price FROM bids UNION ALL SELECT auction, price FROM bids", (1, 41), "2 columns"),
    (f"{JOIN} x.auction = y.auction", (1, 33), "no time window"),
    (f"{JOIN} x.auction = y.auction AND x.ts <= y.ts", (1, 33), "one side only"),
    (f"{JOIN} x.ts = y.ts", (1, 33), "equality"),
    (f"{JOIN} x.auction = y.auction AND x.ts > y.ts AND x.ts < y.ts", (1, 33), "contradict"),
    ("SELECT x.price FROM bids x, bids y", (1, 29), "no time window"),
    ("SELECT x.price FROM bids x CROSS JOIN bids y", (1, 39), "no time window"),
    ("SELECT x.price FROM bids x LEFT JOIN bids y ON x.auction = y.auction", (1, 38), "LEFT JOIN"),
    ("SELECT x.price FROM bids x FULL OUTER JOIN bids y ON x.auction = y.auction", None, "FULL OUTER"),
    ("SELECT x.price FROM bids x LEFT SEMI JOIN bids y ON x.auction = y.auction", None, "LEFT SEMI"),
    ("SELECT x.price FROM bids x LEFT ANTI JOIN bids y ON x.auction = y.auction", None, "LEFT ANTI"),
    ("SELECT x.price FROM bids x NATURAL JOIN bids y", None, "NATURAL"),
    ("SELECT x.price FROM bids x JOIN bids y USING (auction)", (1, 40), "USING"),
    ("SELECT x.price FROM bids x, auctions x", (1, 29), "own alias"),
    ("SELECT price FROM bid", (1, 19), "no stream bid; did you mean bids?"),
    ("SELECT prize FROM bids", (1, 8), "no column prize"),
    ("SELECT price, price FROM bids", (1, 15), "two output columns"),
    ("SELECT price + 1 FROM bids", (1, 8), "AS name"),
    ("SELECT NULL AS nothing FROM bids", None, "NULL has no type"),
    ("SELECT x.* EXCEPT (price) FROM bids x", None, r"\*|STAR"),
    ("SELECT price FROM bids WHERE auction", (1, 30), "condition is needed"),
    ("SELECT count(*) AS n FROM bids", (1, 8), "exactly one time window"),
    ("SELECT price, count(*) AS n FROM bids GROUP BY price", (1, 48), "exactly one time window"),
    (f"SELECT price, count(*) AS n {GROUP}", (1, 8), "neither in GROUP BY"),
    (f"SELECT max(price) AS price, price AS p {GROUP}", (1, 29), "price is neither in GROUP BY"),
    (f"SELECT price AS p, max(price) AS price {GROUP}", (1, 8), "price is neither in GROUP BY"),
    (f"SELECT max(price) AS price, price + 1 AS p {GROUP}", (1, 29), "price is neither in GROUP BY"),
    (
        "SELECT auction, count(*) AS n FROM bids x, bids y WHERE x.auction = y.auction AND x.ts = y.ts "
        "GROUP BY x.auction, window(x.ts, '1 minute')",
        (1, 8),
        "auction is neither in GROUP BY",
    ),
    (
        "SELECT price AS _id FROM bids",
        (1, 8),
        "_id is a name reserved by the runtime; write ... AS another_name",
    ),
    (f"SELECT max(price) AS _TIME {GROUP}", (1, 8), "_TIME is a name reserved by the runtime"),
    ("SELECT price AS _t_bids FROM bids", (1, 8), "_t_bids is a name reserved by the runtime"),
    (f"SELECT count(DISTINCT price) AS n {GROUP}", (1, 8), "DISTINCT"),
    (f"SELECT count(price) FILTER (WHERE price > 1) AS n {GROUP}", None, "FILTER"),
    (f"SELECT stddev(price) AS n {GROUP}", (1, 8), "count, sum, avg, min or max"),
    (f"SELECT window, count(*) AS n {GROUP}", (1, 8), "window.start"),
    (f"SELECT sum(price) OVER () AS n {GROUP}", (1, 8), "OVER"),
    (f"SELECT sum(sum(price)) AS n {GROUP}", None, "aggregate"),
    (f"SELECT sum(x.ts) AS n {GROUP}", (1, 8), "needs a number"),
    (f"SELECT count(*) AS n {GROUP}, 1", None, "number in GROUP BY"),
    ("SELECT count(*) AS n FROM bids GROUP BY window(price, '5 minutes')", (1, 41), "event-time column"),
    ("SELECT count(*) AS n FROM bids GROUP BY window(ts, '1 month')", None, "10 minutes"),
    ("SELECT count(*) AS n FROM bids GROUP BY window(ts, '1 minute', '2 minutes')", (1, 41), "shorter"),
    ("SELECT count(*) AS n FROM bids GROUP BY ROLLUP(auction)", None, "exactly one time window|ROLLUP"),
    ("SELECT count(*) AS n FROM bids GROUP BY ALL", (1, 32), "ALL"),
    ("SELECT reflect('a', 'b') AS x FROM bids", (1, 8), "reflect"),
    ("SELECT price FROM bids WHERE java_method('a', 'b') = 'x'", (1, 30), "java_method"),
    (f"{JOIN} reflect('a', x.auction) = y.auction", None, "reflect"),
    ("SELECT TRANSFORM(price) USING 'cat' AS (y) FROM bids", None, "TRANSFORM"),
    ("SELECT max(reflect('a', 'b')) AS x FROM bids GROUP BY window(ts, '1 minute')", (1, 12), "reflect"),
    (
        "SELECT count(*) AS n FROM bids GROUP BY window(ts, '1 minute') HAVING reflect('a', 'b') = 'x'",
        None,
        "reflect",
    ),
    ("SELECT count(*) AS n FROM bids GROUP BY window(ts, '1 minute'), java_method('a')", None, "java_method"),
    ("SELECT explode(price) AS x FROM bids", (1, 8), "explode"),
    ("", None, "empty"),
    ("SELECT", None, "."),
    ("SELECT price FROM", None, "."),
]


@pytest.mark.parametrize(("sql", "place", "reason"), REFUSED)
def test_refused(streams: dict[str, Stream], sql: str, place: tuple[int, int] | None, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason) as caught:
        query_from_sql("d/q", sql, streams)
    if place is not None:
        assert (caught.value.line, caught.value.column) == place, str(caught.value)


def test_all_columns_that_are_not_there_are_told_at_once(streams: dict[str, Stream]) -> None:
    sql = (
        "SELECT x.auctio, count(*) AS n FROM bids x WHERE x.prise > 1 "
        "GROUP BY x.auction, window(x.ts, '5 minutes') HAVING n > 1 AND max(x.prize) > 1"
    )
    with pytest.raises(ExpressionError) as caught:
        query_from_sql("d/q", sql, streams)
    assert [str(error) for error in (caught.value, *caught.value.others)] == [
        "line 1, column 8: there is no column x.auctio; did you mean x.auction?",
        "line 1, column 50: there is no column x.prise; did you mean x.price?",
        "line 1, column 129: there is no column x.prize; did you mean x.price?",
    ]


TWICE = "spec.operators can aggregate twice, see `weir help manifests`"
TABLE = "for a table see `Joining with a table` in `weir help sql`"


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        (f"SELECT x.auctio, count(*) AS n {GROUP}", "no column x.auctio; did you mean x.auction?"),
        (
            "SELECT count(*) AS n FROM bids x WHERE count(*) > 3 GROUP BY window(ts, '1 minute')",
            "count(*) is an aggregate, which is computed after WHERE and ON; write this condition in HAVING",
        ),
        (f"SELECT max(count(*)) AS n {GROUP}", f"max of an aggregate is not supported in SQL; {TWICE}"),
        ("SELECT max(n) AS m FROM (SELECT count(*) AS n FROM bids) x", TWICE),
        ("WITH t AS (SELECT 1) SELECT price FROM bids", TWICE),
        ("SELECT x.price FROM bids x LEFT JOIN bids y ON x.auction = y.auction", TABLE),
        (f"{JOIN} x.auction = y.auction", TABLE),
        (
            "SELECT count(*) AS n FROM bids x GROUP BY window(x.price, '5 minutes')",
            "x.price is not an event-time column; did you mean x.ts?",
        ),
    ],
)
def test_what_would_be_right_is_said(streams: dict[str, Stream], sql: str, right: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        query_from_sql("d/q", sql, streams)
    assert right in str(caught.value)
