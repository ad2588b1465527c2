"""The benchmark's own texts that Weir's SQL refuses, and a part of what it says."""

from __future__ import annotations

REFUSED: dict[str, tuple[str, str]] = {
    "q3": (
        "SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id "
        "WHERE a.category = 10 AND p.state = 'OR'",
        "the join of p has no time window, so its rows would be kept forever; write ",
    ),
    "q4": (
        "SELECT q.category, avg(q.final) AS price FROM (SELECT max(b.price) AS final, a.category FROM "
        "auction a, bid b "
        "WHERE a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires GROUP BY a.id, a.category) q "
        "GROUP BY q.category",
        "a subquery in FROM is not supported",
    ),
    "q5": (
        "WITH counts AS (SELECT auction, count(*) AS num FROM bid GROUP BY auction, "
        "window(dateTime, '10 seconds', '2 seconds')) SELECT auction, num FROM counts",
        "WITH is not supported",
    ),
    "q6": (
        "SELECT a.seller, avg(b.price) OVER (PARTITION BY a.seller ORDER BY b.dateTime ROWS BETWEEN 10 "
        "PRECEDING AND "
        "CURRENT ROW) AS price FROM auction a JOIN bid b ON a.id = b.auction "
        "AND b.dateTime BETWEEN a.dateTime AND a.dateTime + INTERVAL 20 SECONDS",
        "window functions (OVER)",
    ),
    "q7": (
        "SELECT b.auction, b.price, b.bidder, b.dateTime FROM bid b JOIN (SELECT max(price) AS maxprice, "
        "window.end AS dateTime FROM bid GROUP BY window(dateTime, '10 seconds')) m ON b.price = m.maxprice",
        "a subquery in FROM is not supported",
    ),
    "q9": (
        "SELECT id, bidder, price, ROW_NUMBER() OVER (PARTITION BY id ORDER BY price DESC) AS place "
        "FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime "
        "AND a.dateTime + INTERVAL 20 SECONDS",
        "window functions (OVER)",
    ),
    "q10": (
        "SELECT auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS dt FROM bid",
        "writes values as a text of a chosen form",
    ),
    "q11": (
        "SELECT bidder, count(*) AS bids FROM bid GROUP BY bidder, session_window(dateTime, '10 seconds')",
        "session_window is not supported: it opens session windows",
    ),
    "q12": (
        "SELECT bidder, count(*) AS bids FROM bid GROUP BY bidder, window(now(), '10 seconds')",
        "gives a different value each time it runs",
    ),
    "q13": (
        "SELECT b.auction, s.value FROM bid b JOIN side_input s ON b.auction = s.key",
        "no stream side_input; streams: auction, bid, person",
    ),
    "q14": (
        "SELECT auction, count_char(extra, 'c') AS c_counts FROM bid",
        "the function count_char is not supported",
    ),
    "q15": (
        "SELECT count(DISTINCT bidder) AS bidders FROM bid GROUP BY window(dateTime, '1 day')",
        "count(DISTINCT ...) is not supported",
    ),
    "q17": (
        "SELECT auction, count(*) FILTER (WHERE price < 10000) AS rank1 FROM bid "
        "GROUP BY auction, window(dateTime, '1 day')",
        "FILTER",
    ),
    "q18": (
        "SELECT auction, bidder FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY "
        "dateTime "
        "DESC) AS place FROM bid) WHERE place <= 1",
        "FROM",
    ),
    "q19": (
        "SELECT * FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) <= 10",
        "QUALIFY is not supported",
    ),
    "q20": (
        "SELECT auction, bidder, price, a.itemName FROM bid b JOIN auction a ON b.auction = a.id "
        "WHERE a.category = 10",
        "the join of a has no time window, so its rows would be kept forever; write ",
    ),
    "q21": (
        "SELECT auction, REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) AS channel_id FROM bid",
        "uses regular expressions",
    ),
    "q22": (
        "SELECT auction, SPLIT_PART(url, '/', 4) AS dir1 FROM bid",
        "`weir help sql` lists what is",
    ),
}
