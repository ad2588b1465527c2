"""What the flights queries must give: one batch over the very rows that are in the topics, by DuckDB."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import duckdb
import pandas as pd

from tests.e2e.flights import STREAMS, Message, topics, wait_replayed
from tests.e2e.kubectl import wait_until

WATERMARK = 200_000  # microseconds, as in streams.yaml
BY_CARRIER = """
    SELECT carrier, ts - ts % 6000000 AS start, ts - ts % 6000000 + 6000000 AS "end",
           count(*) AS departures, avg(dep_delay) AS mean_delay
    FROM departures {where} GROUP BY ALL"""
REFERENCE = {
    "delayed-weather": """
        SELECT d.month, d.carrier, d.flight, d.origin, d.dep_delay, w.wind_speed, w.precip, w.visib
        FROM departures d JOIN weather w
          ON d.month = w.month AND d.origin = w.origin AND d.ts BETWEEN w.ts AND w.ts + 999000
        WHERE d.dep_delay >= 15""",
    "made-up-time": """
        SELECT d.month, d.carrier, d.flight, d.origin, d.dest, d.dep_delay, a.arr_delay, w.wind_speed
        FROM departures d
        JOIN arrivals a ON d.month = a.month AND d.carrier = a.carrier AND d.flight = a.flight
          AND d.origin = a.origin AND a.ts BETWEEN d.ts AND d.ts + 12000000
        JOIN weather w ON d.month = w.month AND d.origin = w.origin AND d.ts BETWEEN w.ts AND w.ts + 999000
        WHERE d.dep_delay >= 5 AND a.arr_delay < 0""",
    "by-carrier": BY_CARRIER.format(where="WHERE month < 13"),  # without the row that closes the stream
}
EDITED = {"by-carrier": BY_CARRIER.format(where="WHERE dep_delay >= 15")}
"""Queries as a test has edited them, with the condition `d.dep_delay >= 15`."""

CUTS: dict[str, list[int]] = {}
"""[us] By namespace: where `by-carrier` was edited, then edited back, and so on. Rows up to the first one are
those of REFERENCE, from there to the second one those of EDITED."""

TIMES = {"start", "end"}
WINDOWED = {"by-carrier"}


@dataclass(frozen=True)
class Audit:
    """Rows that are missing, there twice, or wrong; `rows` is how many there should be, `repeated` how many
    messages have the row id of one before, which a reader drops."""

    rows: int
    missing: int
    doubled: int
    wrong: int
    examples: tuple[str, ...] = ()
    repeated: int = 0

    @property
    def clean(self) -> bool:
        return (self.missing, self.doubled, self.wrong) == (0, 0, 0)


def _microseconds(text: str) -> int:
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1_000_000)


def _in_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that are not late against the running maximum of their log."""
    latest, kept = -1, []
    for row in rows:
        latest = max(latest, row["ts"])
        if row["ts"] >= latest - WATERMARK:
            kept.append(row)
    return kept


def _plain(value: Any) -> Any:
    """Numbers to nine digits: a mean does not depend on the order in which it was summed."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return value


def expected(namespace: str) -> dict[str, Counter[tuple[Any, ...]]]:
    """The rows of every query, from what the input topics hold."""
    tables = {}
    for name, messages in topics(namespace, STREAMS).items():
        rows = [m.value | {"ts": _microseconds(m.value["ts"])} for m in messages]
        tables[name] = pd.DataFrame(_in_time(rows))
    with duckdb.connect() as database:
        for name, table in tables.items():
            database.register(name, table)
        plain, edited = (
            {
                query: Counter(tuple(map(_plain, row)) for row in database.execute(sql).fetchall())
                for query, sql in queries.items()
            }
            for queries in (REFERENCE, EDITED)
        )
    cuts = CUTS.get(namespace, [])
    return plain | {query: alternating(plain[query], rows, cuts) for query, rows in edited.items()}


def alternating(
    plain: Counter[tuple[Any, ...]], edited: Counter[tuple[Any, ...]], cuts: Sequence[int]
) -> Counter[tuple[Any, ...]]:
    """Windows of a query that was edited and edited back: each is of the query that its end belongs to, and
    a cut belongs to what is before it.

    Raises:
        AssertionError: the edit made no difference between two cuts.
    """
    pieces = [
        Counter({row: n for row, n in rows.items() if bisect_left(cuts, row[2]) % 2 == which})
        for which, rows in enumerate((plain, edited))
    ]
    between = Counter({row: n for row, n in plain.items() if bisect_left(cuts, row[2]) % 2})
    assert not between or between != pieces[1], "an edit that changes no row shows nothing"
    return pieces[0] + pieces[1]


def columns(query: str) -> list[str]:
    """Names of a query's output columns, in order."""
    names = {
        "delayed-weather": "month carrier flight origin dep_delay wind_speed precip visib",
        "made-up-time": "month carrier flight origin dest dep_delay arr_delay wind_speed",
        "by-carrier": "carrier start end departures mean_delay",
    }
    return names[query].split()


def _row(query: str, value: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        _microseconds(value[name]) if name in TIMES else _plain(value.get(name)) for name in columns(query)
    )


def delivered(query: str, messages: list[Message]) -> Counter[tuple[Any, ...]]:
    """Rows of a result topic. A Kafka sink writes at least once and names each row in a header: the same
    row id twice is one row; messages without headers all count."""
    by_row_id: dict[str, tuple[Any, ...]] = {}
    nameless: list[tuple[Any, ...]] = []
    for message in messages:
        row = _row(query, message.value)
        if message.headers in ("", "NO_HEADERS"):
            nameless.append(row)
        else:
            assert by_row_id.setdefault(message.headers, row) == row, f"one id, two rows: {message.headers}"
    return Counter([*by_row_id.values(), *nameless])


def compare(want: Counter[tuple[Any, ...]], have: Counter[tuple[Any, ...]]) -> Audit:
    """Missing, doubled and wrong rows."""
    missing, extra = want - have, have - want
    doubled = sum(n for row, n in extra.items() if row in want)
    examples = [f"missing {row}" for row in list(missing)[:3]] + [f"extra {row}" for row in list(extra)[:3]]
    return Audit(want.total(), missing.total(), doubled, extra.total() - doubled, tuple(examples))


def audit(namespace: str, want: dict[str, Counter[tuple[Any, ...]]]) -> dict[str, Audit]:
    """Every query's audit against the rows that it must give."""
    messages = topics(namespace, want)
    return {query: audit_messages(query, rows, messages[query]) for query, rows in want.items()}


def audit_messages(query: str, want: Counter[tuple[Any, ...]], messages: list[Message]) -> Audit:
    """One query's topic."""
    have = delivered(query, messages)
    return replace(compare(want, have), repeated=len(messages) - have.total())


def wait_delivered(namespace: str, want: dict[str, Counter[tuple[Any, ...]]], seconds: float) -> None:
    """Until nothing is missing any more. AssertionError with the audits as they are then."""
    last: dict[str, Audit] = {}

    def complete() -> bool:
        last.update(audit(namespace, want))
        return not any(result.missing for result in last.values())

    try:
        wait_until(seconds, "every row delivered", complete, every=5)
    except AssertionError as error:
        raise AssertionError(f"{error}: {last}") from None


def judge(namespace: str, seconds: float, queries: tuple[str, ...] = tuple(REFERENCE)) -> dict[str, Audit]:
    """Waits for the replay's end and for every row that it must give, and asserts that there is no other."""
    wait_replayed(namespace, seconds)
    want = {query: rows for query, rows in expected(namespace).items() if query in queries}
    assert all(rows.total() > 0 for rows in want.values())
    wait_delivered(namespace, want, seconds)
    return _assert_clean(audit(namespace, want))


def judge_so_far(
    namespace: str, seconds: float, queries: tuple[str, ...] = tuple(REFERENCE)
) -> dict[str, Audit]:
    """While rows go on to come: waits for every row that those in the topics must give by now, at least one
    for each query, and asserts that there is none that the topics' rows do not give."""
    want: dict[str, Counter[tuple[Any, ...]]] = {}

    def enough() -> bool:
        if not all(topics(namespace, STREAMS).values()):
            return False  # the replay has not come to each of them yet
        want.update({q: _closed(q, rows) for q, rows in expected(namespace).items() if q in queries})
        return all(rows.total() > 0 for rows in want.values())

    wait_until(seconds, "rows to be judged by", enough, every=5)
    wait_delivered(namespace, want, seconds)
    messages = topics(namespace, want)
    later = expected(namespace)

    def due(query: str) -> Counter[tuple[Any, ...]]:
        return later[query] & (want[query] | delivered(query, messages[query]))

    return _assert_clean({query: audit_messages(query, due(query), messages[query]) for query in want})


def _closed(query: str, rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Without windows that rows to come may still fall into: all but the two latest, which a watermark of
    less than a window's length has not passed for sure."""
    if query not in WINDOWED:
        return rows
    open_since = sorted({row[1] for row in rows})[-2:][0]
    return Counter({row: count for row, count in rows.items() if row[1] < open_since})


def _assert_clean(audits: dict[str, Audit]) -> dict[str, Audit]:
    for query, result in audits.items():
        print(f"{query}: {result}")
        assert result.clean, f"{query}: {result}"
    return audits
