"""A snapshot of a query that runs; all else of the query goes, and a new one begins from it: no row is
missing, doubled or wrong. What it cannot begin from is said."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb

from tests.e2e import flights
from tests.e2e.conftest import SHARED, weir
from tests.e2e.kubectl import Manifest, apply, condition, get, kubectl, wait_until
from tests.e2e.reference import columns, compare, expected

HOURS, SPEED = 240, 0.5
SQL = """
    SELECT d.carrier, window.start, window.end, count(*) AS departures, avg(d.dep_delay) AS mean_delay
    FROM departures d WHERE d.month < 13 GROUP BY d.carrier, window(d.ts, '6 seconds')
"""


def carriers(namespace: str, name: str, **more: Any) -> Manifest:
    """As `by-carrier` of the flights, with files for a sink; computed in another zone than it is read in."""
    return {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "StreamQuery",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "sql": SQL,
            "sink": {"files": {"uri": "out/carriers", "format": "parquet"}},
            "deliverTo": {"zone": "atlanta"},
            "policy": "flights",
            "deletionPolicy": "Delete",
            **more,
        },
    }


def sink_files(namespace: str) -> list[Path]:
    return sorted((SHARED / namespace / "files" / namespace / "out" / "carriers").glob("*.parquet"))


def delivered(namespace: str) -> Counter[tuple[Any, ...]]:
    """Rows of the sink, as `reference` has them."""
    folder = SHARED / namespace / "files" / namespace / "out" / "carriers"
    if not sink_files(namespace):
        return Counter()
    sql = f"""
        SELECT carrier, epoch_us(start), epoch_us("end"), departures, mean_delay
        FROM read_parquet('{folder}/*.parquet')"""
    with duckdb.connect() as database:
        rows = database.execute(sql).fetchall()
    assert len(columns("by-carrier")) == 5
    return Counter(tuple(float(f"{v:.9g}") if isinstance(v, float) else v for v in row) for row in rows)


def said(namespace: str, pattern: str) -> re.Match[str]:
    """What the new query says of why it does not begin, where it matches; nothing of it runs."""
    match: re.Match[str] = wait_until(
        240,
        f"the word of {pattern}",
        lambda: next(
            (
                words
                for manifest in get("streamquery", "again", "-n", namespace)
                if (words := re.search(pattern, condition(manifest, "Ready").get("message", "")))
            ),
            None,
        ),
    )
    assert not flights.drivers(namespace)
    return match


def test_a_query_goes_on_from_its_snapshot_when_all_else_of_it_is_gone(namespace: str) -> None:
    streams = flights.only(flights.manifests(namespace, HOURS, SPEED), ())
    flights.run(namespace, [*streams, carriers(namespace, "carriers")], ("carriers",))
    wait_until(240, "rows in the sink", lambda: delivered(namespace))
    assert f"snapshot {namespace}/s1: " in weir("snapshot", f"{namespace}/carriers", "--name", "s1")
    before = len(sink_files(namespace))
    wait_until(120, "rows of after the snapshot", lambda: len(sink_files(namespace)) > before)

    kubectl("delete", "streamquery", "carriers", "-n", namespace, "--timeout=120s", timeout=130)
    wait_until(120, "nothing of the query is left", lambda: not flights.drivers(namespace))
    from_it = {"restoreFrom": {"snapshot": {"name": "s1"}}}
    apply([carriers(namespace, "again", sql=SQL.replace("month < 13", "month < 12"), **from_it)])
    said(namespace, r"snapshot \S+/s1 belongs to another query: spec.sql .* differs")
    apply([carriers(namespace, "again", **from_it)])
    later = said(namespace, r"files written after it, (\S+\.parquet)")
    for path in sink_files(namespace):
        if path.name >= later[1]:
            path.unlink()
    copied = next(
        (SHARED / namespace / "snapshots" / namespace / "s1").glob("fragments/0/checkpoint/offsets/*")
    )
    good = copied.read_bytes()
    copied.write_bytes(good + b" ")
    said(namespace, rf"offsets/{copied.name} is damaged")
    copied.write_bytes(good)
    flights.wait_ready(namespace, 300, ("again",))

    flights.wait_replayed(namespace, 600)
    want = expected(namespace)["by-carrier"]
    wait_until(300, "every row delivered", lambda: not compare(want, delivered(namespace)).missing, every=5)
    verdict = compare(want, delivered(namespace))
    print(verdict)
    assert verdict.rows > 0
    assert verdict.clean, verdict
