"""Nexmark's queries as Weir can say them, and the same for DuckDB, written for itself.

Where the benchmark's text needs what a stream's SQL here refuses (`refused.py`), the query keeps its question
and takes a time window for what has no end: joins within a window, windows for days and for all time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Operators = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Nexmark:
    """One query: as SQL or as a graph of operators; `judge` is DuckDB's, with columns in the same order."""

    judge: str
    sql: str = ""
    operators: Operators = ()

    @property
    def spec(self) -> dict[str, Any]:
        """Of its StreamQuery."""
        return {"sql": self.sql} if self.sql else {"operators": list(self.operators)}


def _count(name: str) -> dict[str, str]:
    return {"name": name, "function": "count"}


def _windows(length: int, slide: int, table: str, time: str = "dateTime") -> str:
    """Each row of a table with the `wstart` and `wend` of every window that it is in; lengths in seconds."""
    newest = f"epoch_us({time}) // {slide * 10**6} * {slide * 10**6}"
    return (
        f"(SELECT *, make_timestamp(first) AS wstart, make_timestamp(first + {length * 10**6}) AS wend FROM "
        f"(SELECT *, unnest([{newest} - n * {slide * 10**6} FOR n IN range({length // slide})]) AS first "
        f"FROM {table}))"
    )


HOT_COUNTS = f"SELECT auction, wstart, wend, count(*) AS num FROM {_windows(10, 2, 'bid')} GROUP BY ALL"
BIDS_A_WINDOW: dict[str, Any] = {
    "id": "n", "kind": "aggregate", "inputs": ["bid"], "window": "10s", "slide": "2s",
    "groupBy": ["bid.auction"], "aggregates": [_count("num")],
}  # fmt: skip
CLOSED = """
    SELECT a.id, a.category, a.seller, max(b.price) AS final,
      time_bucket(INTERVAL '10 seconds', b.dateTime) AS s
    FROM auction a JOIN bid b
    ON a.id = b.auction AND abs(epoch_us(a.dateTime) - epoch_us(b.dateTime)) <= 10000000
    WHERE b.dateTime BETWEEN a.dateTime AND a.expires GROUP BY ALL"""
CLOSING: Operators = (
    {"id": "j", "kind": "join", "inputs": ["auction", "bid"], "on": "auction.id = bid.auction",
     "window": "10s"},
    {"id": "open", "kind": "filter", "inputs": ["j"],
     "predicate": "bid.dateTime BETWEEN auction.dateTime AND auction.expires"},
    {"id": "final", "kind": "aggregate", "inputs": ["open"], "time": "bid.dateTime", "window": "10s",
     "groupBy": ["auction.id", "auction.category", "auction.seller"],
     "aggregates": [{"name": "final", "function": "max", "expression": "bid.price"}]},
)  # fmt: skip

QUERIES: dict[str, Nexmark] = {
    "q0-pass-through": Nexmark(
        sql="SELECT auction, bidder, price, dateTime, extra FROM bid",
        judge="SELECT auction, bidder, price, dateTime, extra FROM bid",
    ),
    "q1-currency": Nexmark(
        sql="SELECT auction, bidder, 0.908 * CAST(price AS DOUBLE) AS price, dateTime, extra FROM bid",
        judge="SELECT auction, bidder, 0.908::DOUBLE * price, dateTime, extra FROM bid",
    ),
    "q2-selection": Nexmark(
        sql="SELECT auction, price FROM bid WHERE auction % 123 = 0",
        judge="SELECT auction, price FROM bid WHERE auction % 123 = 0",
    ),
    "q3-local-items": Nexmark(
        sql="""SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p
            ON a.seller = p.id AND a.dateTime BETWEEN p.dateTime - INTERVAL 2 SECONDS
            AND p.dateTime + INTERVAL 20 SECONDS
            WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
        judge="""SELECT p.name, p.city, p.state, a.id FROM auction a, person p
            WHERE a.seller = p.id AND epoch_us(a.dateTime) - epoch_us(p.dateTime) BETWEEN -2000000 AND
            20000000 AND a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    ),
    "q4-average-price-of-a-category": Nexmark(
        operators=(
            *CLOSING,
            {"id": "mean", "kind": "aggregate", "inputs": ["final"], "time": "window.start", "window": "10s",
             "groupBy": ["auction.category"],
             "aggregates": [{"name": "price", "function": "avg", "expression": "final"}]},
        ),
        judge=f"""SELECT category, s, s + INTERVAL '10 seconds', avg(final) FROM ({CLOSED}) GROUP BY ALL""",
    ),
    "q5-bids-of-hot-items": Nexmark(
        operators=(
            BIDS_A_WINDOW,
            {"id": "m", "kind": "aggregate", "inputs": ["n"], "time": "window.start", "window": "2s",
             "groups": 1, "aggregates": [{"name": "maxn", "function": "max", "expression": "num"}]},
        ),
        judge=f"""SELECT wstart, wstart + INTERVAL '2 seconds', max(num) FROM ({HOT_COUNTS}) GROUP BY ALL""",
    ),
    "q5-by-the-end-of-windows": Nexmark(
        operators=(
            BIDS_A_WINDOW,
            {"id": "m", "kind": "aggregate", "inputs": ["n"], "time": "window.end", "window": "6s",
             "slide": "2s",
             "aggregates": [{"name": "maxn", "function": "max", "expression": "num"}, _count("groups")]},
        ),
        judge=f"""SELECT wstart, wend, max(num), count(*)
            FROM {_windows(6, 2, f'(SELECT num, wend AS e FROM ({HOT_COUNTS}))', 'e')} GROUP BY ALL""",
    ),
    "q6-three-aggregates-in-a-row": Nexmark(
        operators=(
            *CLOSING,
            {"id": "sold", "kind": "aggregate", "inputs": ["final"], "time": "window.start", "window": "20s",
             "groupBy": ["auction.seller"],
             "aggregates": [{"name": "price", "function": "avg", "expression": "final"}, _count("items")]},
            {"id": "most", "kind": "aggregate", "inputs": ["sold"], "time": "window.start", "window": "40s",
             "slide": "20s", "aggregates": [{"name": "items", "function": "max", "expression": "items"},
                                            {"name": "price", "function": "min", "expression": "price"}]},
        ),
        judge=f"""WITH sold AS (SELECT seller, time_bucket(INTERVAL '20 seconds', s) AS t, avg(final) AS
            price, count(*) AS items FROM ({CLOSED}) GROUP BY ALL)
            SELECT wstart, wend, max(items), min(price) FROM {_windows(40, 20, 'sold', 't')} GROUP BY ALL""",
    ),
    "q7-highest-bid": Nexmark(
        sql="""SELECT window.end AS until, max(price) AS price, count(*) AS bids FROM bid
            GROUP BY window(dateTime, '10 seconds')""",
        judge="""SELECT time_bucket(INTERVAL '10 seconds', dateTime) + INTERVAL '10 seconds', max(price),
            count(*) FROM bid GROUP BY time_bucket(INTERVAL '10 seconds', dateTime)""",
    ),
    "q8-new-people-who-sell": Nexmark(
        sql="""SELECT p.id, p.name, window.start AS starttime FROM person p JOIN auction a
            ON p.id = a.seller AND a.dateTime BETWEEN p.dateTime - INTERVAL 10 SECONDS
            AND p.dateTime + INTERVAL 10 SECONDS
            AND unix_seconds(p.dateTime) div 10 = unix_seconds(a.dateTime) div 10
            GROUP BY p.id, p.name, window(p.dateTime, '10 seconds')""",
        judge="""SELECT DISTINCT p.id, p.name, time_bucket(INTERVAL '10 seconds', p.dateTime)
            FROM person p JOIN auction a ON p.id = a.seller
            AND time_bucket(INTERVAL '10 seconds', p.dateTime) = time_bucket(INTERVAL '10 seconds',
            a.dateTime)""",
    ),
    "q10-parts-of-a-time": Nexmark(
        sql="""SELECT auction, bidder, price, dateTime, CAST(to_date(dateTime) AS STRING) AS dt,
            hour(dateTime) AS h, minute(dateTime) AS m FROM bid""",
        judge="""SELECT auction, bidder, price, dateTime, strftime(dateTime, '%Y-%m-%d'),
            hour(dateTime)::INTEGER, minute(dateTime)::INTEGER FROM bid""",
    ),
    "q12-bids-of-a-bidder": Nexmark(
        sql="""SELECT bidder, count(*) AS bids, window.start AS starttime, window.end AS endtime FROM bid
            GROUP BY bidder, window(dateTime, '10 seconds') HAVING bids > 1""",
        judge="""SELECT bidder, count(*), time_bucket(INTERVAL '10 seconds', dateTime) AS s,
            time_bucket(INTERVAL '10 seconds', dateTime) + INTERVAL '10 seconds'
            FROM bid GROUP BY ALL HAVING count(*) > 1""",
    ),
    "q14-calculation": Nexmark(
        sql="""SELECT auction, bidder, CAST(price AS DOUBLE) * 0.908 AS price,
            CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour(dateTime) <= 6
            OR hour(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bidTimeType, extra
            FROM bid WHERE price > 10000 AND price < 5000000""",
        judge="""SELECT auction, bidder, price * 0.908::DOUBLE, CASE WHEN hour(dateTime) BETWEEN 8 AND 18
            THEN 'dayTime' WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime'
            END, extra FROM bid WHERE price BETWEEN 10001 AND 4999999""",
    ),
    "q16-statistics-of-a-channel": Nexmark(
        sql="""SELECT channel, window.start AS starttime, count(*) AS bids,
            sum(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1,
            sum(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2
            FROM bid WHERE channel NOT LIKE 'channel-%' GROUP BY channel, window(dateTime, '1 minute', '20
            seconds')""",
        judge=f"""SELECT channel, wstart, count(*), count(*) FILTER (price < 10000),
            count(*) FILTER (price >= 10000 AND price < 1000000) FROM {_windows(60, 20, 'bid')}
            WHERE channel IN ('Google', 'Facebook', 'Baidu', 'Apple') GROUP BY ALL""",
    ),
    "q17-statistics-of-an-auction": Nexmark(
        sql="""SELECT auction, window.start AS starttime, count(*) AS bids, min(price) AS low, max(price) AS
            high, avg(price) AS mean, sum(price) AS total FROM bid GROUP BY auction, window(dateTime, '10
            seconds')""",
        judge="""SELECT auction, time_bucket(INTERVAL '10 seconds', dateTime), count(*), min(price),
            max(price), avg(price), sum(price)::BIGINT FROM bid GROUP BY ALL""",
    ),
    "q20-bids-with-their-auction": Nexmark(
        sql="""SELECT b.auction, b.bidder, b.price, b.dateTime, a.itemName, a.initialBid, a.seller, a.expires
            FROM bid b JOIN auction a ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime
            AND a.dateTime + INTERVAL 20 SECONDS WHERE a.category = 10""",
        judge="""SELECT b.auction, b.bidder, b.price, b.dateTime, a.itemName, a.initialBid, a.seller,
            a.expires FROM bid b, auction a WHERE b.auction = a.id AND a.category = 10
            AND epoch_us(b.dateTime) - epoch_us(a.dateTime) BETWEEN 0 AND 20000000""",
    ),
    "q21-channel-ids": Nexmark(
        sql="""SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN
            'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE replace(channel,
            'channel-', '') END AS
            channel_id FROM bid""",
        judge="""SELECT auction, bidder, price, channel, CASE channel WHEN 'Apple' THEN '0' WHEN 'Google'
            THEN '1' WHEN 'Facebook' THEN '2' WHEN 'Baidu' THEN '3' ELSE split_part(channel, '-', 2) END FROM
            bid""",
    ),
    "q22-folders-of-urls": Nexmark(
        sql="""SELECT auction, bidder, price, channel,
            left(replace(url, 'https://www.example.com/', ''), 8) AS dir1 FROM bid""",
        judge="SELECT auction, bidder, price, channel, split_part(url, '/', 4) FROM bid",
    ),
    "three-streams-and-a-count": Nexmark(
        sql="""SELECT p.state, a.category, window.start AS starttime, count(*) AS bids, max(b.price) AS high
            FROM bid b JOIN auction a ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime - INTERVAL 1
            SECOND AND a.dateTime + INTERVAL 10 SECONDS
            JOIN person p ON a.seller = p.id AND a.dateTime BETWEEN p.dateTime - INTERVAL 2 SECONDS
            AND p.dateTime + INTERVAL 20 SECONDS
            GROUP BY p.state, a.category, window(p.dateTime, '10 seconds')""",
        judge="""SELECT p.state, a.category, time_bucket(INTERVAL '10 seconds', p.dateTime), count(*),
            max(b.price) FROM bid b, auction a, person p WHERE b.auction = a.id AND a.seller = p.id
            AND epoch_us(b.dateTime) - epoch_us(a.dateTime) BETWEEN -1000000 AND 10000000
            AND epoch_us(a.dateTime) - epoch_us(p.dateTime) BETWEEN -2000000 AND 20000000 GROUP BY ALL""",
    ),
    "all-that-happens": Nexmark(
        sql="""SELECT 'person' AS what, id, dateTime FROM person UNION ALL
            SELECT 'auction' AS what, id, dateTime FROM auction UNION ALL
            SELECT 'bid' AS what, auction, dateTime FROM bid WHERE price > 1000000""",
        judge="""SELECT 'person', id, dateTime FROM person UNION ALL SELECT 'auction', id, dateTime FROM
            auction UNION ALL SELECT 'bid', auction, dateTime FROM bid WHERE price > 1000000""",
    ),
    "busiest-seconds-of-a-union": Nexmark(
        operators=(
            {"id": "a", "kind": "project", "inputs": ["auction"], "columns": ["auction.dateTime"]},
            {"id": "b", "kind": "project", "inputs": ["bid"], "columns": ["bid.dateTime"]},
            {"id": "u", "kind": "union", "inputs": ["a", "b"]},
            {"id": "second", "kind": "aggregate", "inputs": ["u"], "time": "dateTime", "window": "1s",
             "aggregates": [_count("n")]},
            {"id": "busiest", "kind": "aggregate", "inputs": ["second"], "time": "window.start",
             "window": "10s",
             "aggregates": [{"name": "n", "function": "max", "expression": "n"}]},
        ),
        judge="""WITH second AS (SELECT date_trunc('second', dateTime) AS s, count(*) AS n FROM
              (SELECT dateTime FROM auction UNION ALL SELECT dateTime FROM bid) GROUP BY ALL)
            SELECT time_bucket(INTERVAL '10 seconds', s), time_bucket(INTERVAL '10 seconds', s)
              + INTERVAL '10 seconds', max(n) FROM second GROUP BY time_bucket(INTERVAL '10 seconds', s)""",
    ),
}  # fmt: skip
