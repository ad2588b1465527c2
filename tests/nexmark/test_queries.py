"""Every row of Nexmark's queries, as a backlog and fed live in pieces, against DuckDB."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.nexmark import events
from tests.nexmark.house import House, feed, fragments, verdict
from tests.nexmark.queries import QUERIES
from tests.runtime.sessions import Run

EVENTS = int(os.environ.get("WEIR_NEXMARK_EVENTS", "0"))
"""`make nexmark` asks for 200,000 and every query; without it a few queries see FEW events."""

FEW = 10_000
QUICK = (
    "q4-average-price-of-a-category",
    "q5-bids-of-hot-items",
    "q8-new-people-who-sell",
    "busiest-seconds-of-a-union",
    "q16-statistics-of-a-channel",
)


@pytest.fixture(scope="module")
def tables():
    return events.events(EVENTS or FEW)


@pytest.mark.parametrize("way", ["backlog", "live"])
@pytest.mark.parametrize("name", QUERIES if EVENTS else QUICK)
def test_rows_are_those_of_duckdb(run: Run, tables, tmp_path: Path, name: str, way: str) -> None:
    query, house = QUERIES[name], House(tables, tmp_path / "logs")
    specs = fragments(tmp_path, house.logs, query.spec)
    finish = None
    if way == "live":
        finish = feed(house, specs[0])
        specs = tuple(replace(spec, max_batches=1) for spec in specs)
    else:
        house.write()
    for spec in specs:
        run(spec)
    if finish:
        finish()
    result = verdict(tmp_path, house.expected(query.judge))
    print(f"{name}, {way}: {result} of {result.rows} rows")
    assert result.rows > 0
    assert result.good, f"{result}\n{result.examples}"
