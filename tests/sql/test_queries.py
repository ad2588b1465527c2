"""SQL becomes the written plan: joins in the order of FROM, filters above, items on top."""

import pytest
from weir_placement.model.operators import Item, Window
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.rewrite.sql import query_from_sql, stream_references

Streams = dict[str, Stream]
SECOND = 1_000_000


def shape(query: Query) -> list[tuple[str, tuple[str, ...], str]]:
    return [(o.id, o.inputs, getattr(o, "predicate", "") or getattr(o, "on", "")) for o in query.operators]


def test_a_window_join_with_filters(streams: Streams) -> None:
    sql = """
    SELECT b.auction, b.price, a.seller
    FROM bids b JOIN auctions a
      ON b.auction = a.id AND b.ts BETWEEN a.ts - INTERVAL 5 SECONDS AND a.ts + INTERVAL 5 SECONDS
    WHERE a.category = 10 AND b.price > 100"""
    query = query_from_sql("d/hot", sql, streams)
    assert query.sources == {"b": "d/bids", "a": "d/auctions"}
    assert shape(query) == [
        ("j1", ("b", "a"), "b.auction = a.id"),
        ("f1", ("j1",), "a.category = 10"),
        ("f2", ("f1",), "b.price > 100"),
        ("p1", ("f2",), ""),
    ]
    join, *_, project = query.operators
    assert join.windows == (Window("b", "a", -5 * SECOND, 5 * SECOND),)
    assert join.selectivity == 1 / 5000
    assert project.items == (
        Item("auction", "b.auction"),
        Item("price", "b.price"),
        Item("seller", "a.seller"),
    )
    assert stream_references(sql, "d") == ("d/bids", "d/auctions")


@pytest.mark.parametrize(
    ("condition", "lower", "upper"),
    [
        ("x.ts BETWEEN y.ts - INTERVAL 1 MINUTE AND y.ts", -60 * SECOND, 0),
        ("y.ts BETWEEN x.ts AND x.ts + INTERVAL 1 MINUTE", -60 * SECOND, 0),
        ("x.ts <= y.ts AND y.ts <= INTERVAL '1' MINUTE + x.ts", -60 * SECOND, 0),
        ("x.ts < y.ts AND x.ts > y.ts - INTERVAL 1 MINUTE", -60 * SECOND + 1, -1),
        ("y.ts - INTERVAL 1 SECOND <= x.ts + INTERVAL 2 SECONDS AND y.ts >= x.ts", -3 * SECOND, 0),
        ("x.ts = y.ts", 0, 0),
        ("x.ts = y.ts + INTERVAL 1 HOUR", 3600 * SECOND, 3600 * SECOND),
        ("x.ts BETWEEN y.ts - INTERVAL 1 DAY AND y.ts AND x.ts > y.ts - INTERVAL 1 SECOND", -SECOND + 1, 0),
        ("(x.ts >= (y.ts)) AND x.ts <= y.ts + INTERVAL 1 HOUR 1 MINUTE", 0, 3660 * SECOND),
    ],
)
@pytest.mark.parametrize("clause", ["ON", "WHERE"])
def test_time_ranges_in_any_order(
    streams: Streams, condition: str, lower: int, upper: int, clause: str
) -> None:
    joined = "bids x JOIN bids y ON" if clause == "ON" else "bids x, bids y WHERE"
    query = query_from_sql(
        "d/q", f"SELECT x.price FROM {joined} {condition} AND x.auction = y.auction", streams
    )
    assert query.operators[0].windows == (Window("x", "y", lower, upper),)
    assert query.operators[0].on == "x.auction = y.auction"


def test_three_streams_join_in_an_order_that_has_conditions(streams: Streams) -> None:
    query = query_from_sql(
        "d/q",
        """SELECT b.price, p.name FROM bids b, people p, auctions a
        WHERE a.seller = p.id AND b.auction = a.id
          AND a.ts BETWEEN b.ts - INTERVAL 1 HOUR AND b.ts
          AND p.ts BETWEEN a.ts - INTERVAL 1 DAY AND a.ts""",
        streams,
    )
    assert [o.inputs for o in query.operators] == [("b", "a"), ("j1", "p"), ("j2",)]
    assert [o.windows for o in query.operators[:2]] == [
        (Window("b", "a", 0, 3600 * SECOND),),
        (Window("p", "a", -86400 * SECOND, 0),),
    ]


def test_a_missing_side_may_follow_from_the_others(streams: Streams) -> None:
    query = query_from_sql(
        "d/q",
        """SELECT x.price FROM bids x, bids y, bids z
        WHERE x.auction = y.auction AND y.auction = z.auction AND x.ts <= z.ts
          AND y.ts BETWEEN x.ts - INTERVAL 5 SECONDS AND x.ts + INTERVAL 5 SECONDS
          AND z.ts BETWEEN y.ts - INTERVAL 5 SECONDS AND y.ts + INTERVAL 5 SECONDS""",
        streams,
    )
    assert Window("x", "z", -10 * SECOND, 0) in query.operators[1].windows


def test_grouping(streams: Streams) -> None:
    query = query_from_sql(
        "d/q",
        """SELECT window.start AS begins, b.auction, sum(price) / count(*) AS mean, count(*) AS n
        FROM bids b WHERE price > 1 GROUP BY window(b.ts, '10 minutes', '5 minutes'), b.auction
        HAVING count(*) > 2 AND max(price) < 9""",
        streams,
    )
    _, aggregate, *having, project = query.operators
    assert (aggregate.time, aggregate.window, aggregate.slide) == ("b.ts", 600.0, 300.0)
    assert [(a.function, a.expression) for a in aggregate.aggregations] == [
        ("sum", "b.price"),
        ("count", None),
        ("max", "b.price"),
    ]
    names = [a.name for a in aggregate.aggregations]
    assert [h.predicate for h in having] == [f"{names[1]} > 2", f"{names[2]} < 9"]
    assert [i.expression for i in project.items] == [
        "`window`.start",
        "auction",
        f"{names[0]} / {names[1]}",
        names[1],
    ]
    assert aggregate.groups == 5000


def test_an_expression_as_a_key_over_a_join(streams: Streams) -> None:
    query = query_from_sql(
        "d/q",
        """SELECT x.auction + 1 AS k, min(y.price) AS low FROM bids x, bids y
        WHERE x.auction = y.auction AND x.ts BETWEEN y.ts - INTERVAL 5 SECONDS AND y.ts
        GROUP BY window(y.ts, '1 minute'), x.auction + 1""",
        streams,
    )
    aggregate, project = query.operators[1:]
    assert aggregate.items == (Item("key1", "x.auction + 1"),)
    assert project.items[0] == Item("k", "key1")


def test_union_all_renames_and_keeps_aliases_apart(streams: Streams) -> None:
    query = query_from_sql(
        "d/q",
        "SELECT auction, price FROM bids b UNION ALL SELECT id, 1.5e0 FROM auctions b WHERE b.category = 1",
        streams,
    )
    assert query.sources == {"b": "d/bids", "b_2": "d/auctions"}
    first, filtered, second, union = query.operators
    assert union.inputs == (first.id, second.id)
    assert filtered.predicate == "b_2.category = 1"
    assert second.items == (Item("auction", "b_2.id"), Item("price", "1.5E0"))


def test_star_lists_every_column(streams: Streams) -> None:
    query = query_from_sql("d/q", "SELECT * FROM bids", streams)
    assert [i.name for i in query.operators[0].items] == ["auction", "bidder", "price", "ts"]


def test_streams_of_other_namespaces(streams: Streams) -> None:
    query = query_from_sql("e/q", "SELECT price FROM d.bids", streams)
    assert query.sources == {"bids": "d/bids"}
    assert stream_references("SELECT price FROM d.bids, x", "e") == ("d/bids", "e/x")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("INTERVAL 6 SECONDS", 6),
        ("INTERVAL '1' HOUR", 3600),
        ("'1 hour 30 minutes'", 5400),
        ("'2 days'", 172800),
    ],
)
def test_lengths_of_windows(streams: Streams, written: str, seconds: int) -> None:
    sql = f"SELECT count(*) AS n FROM bids GROUP BY window(ts, {written})"
    assert query_from_sql("d/q", sql, streams).operators[0].window == seconds


def test_a_statement_is_the_same_query_each_time_it_is_read(streams: Streams) -> None:
    """What was parsed is kept for a moment, so nothing may be written into it."""
    sql = """
    SELECT auction, count(*) AS n, max(price) + min(price) AS spread FROM bids
    WHERE price > 1 GROUP BY auction, window(ts, '1 minute')
    HAVING count(*) > 3 AND max(price) > 2 * min(price)
    UNION ALL SELECT id, id AS again, CAST(category AS DOUBLE) FROM auctions bids"""
    first = [query_from_sql(f"d/q{i}", sql, streams) for i in range(3)]
    assert len({query.operators for query in first}) == 1
    assert stream_references(sql, "d") == ("d/bids", "d/auctions")
