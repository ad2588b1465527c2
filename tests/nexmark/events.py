"""The events of the Nexmark benchmark: an auction house's people, auctions and bids.

Of 50 events one is a person, three are auctions and 46 are bids, as in the benchmark's generator, with its
hot auctions, bidders and sellers. Times are those of 1,000 events a second, each up to two seconds older than
its place in the stream says; everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from weir_runtime.names import END, batch_name

PERSONS, AUCTIONS, EVENTS = 1, 3, 50
"""Of EVENTS in a row the first PERSONS are people, the next AUCTIONS auctions, the others bids."""

ORIGIN = 1_700_000_000_000_000
"""[us] Event time of the first event."""
STEP = 1_000
"""[us] Between two events."""
DISORDER = 2_000_000
"""[us] An event is older than its place in the stream by less than this."""
WATERMARK = "4s"
"""More than DISORDER: no row is late at its source."""

FIRST_ID = 1_000
ACTIVE_PEOPLE, OPEN_AUCTIONS = 1_000, 100
HOT = 100
"""Each HOT-th id is a hot one for as long as it is the newest of them."""

STREAMS: Mapping[str, str] = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, "
    "dateTime TIMESTAMP, extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, "
    "dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category INT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, "
    "extra STRING",
}

RATES = {
    name: 1e6 / STEP * share / EVENTS
    for name, share in (("person", PERSONS), ("auction", AUCTIONS), ("bid", EVENTS - PERSONS - AUCTIONS))
}
"""[events/s]."""
DISTINCT = {"bid": {"auction": 600, "bidder": 300, "channel": 5_000, "url": 10_000}, "auction": {"id": 600}}
"""Different values, about, within ten seconds."""

CITIES = {
    "Phoenix": "AZ", "Los Angeles": "CA", "San Francisco": "CA", "Boise": "ID", "Portland": "OR",
    "Bend": "OR", "Redmond": "WA", "Seattle": "WA", "Kent": "WA", "Cheyenne": "WY",
}  # fmt: skip
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")

Numbers = NDArray[np.int64]


def events(count: int, seed: int = 1) -> dict[str, pa.Table]:
    """The first `count` events by stream, each in its order of arrival. O(count)."""
    chance = np.random.default_rng(seed)
    number = np.arange(count, dtype=np.int64)
    times = ORIGIN + number * STEP - chance.integers(0, DISORDER, count)
    round_, place = np.divmod(number, EVENTS)
    people = round_ * PERSONS + np.minimum(place, PERSONS)  # how many came before
    auctions = round_ * AUCTIONS + np.clip(place - PERSONS, 0, AUCTIONS)
    person, auction = place < PERSONS, (place >= PERSONS) & (place < PERSONS + AUCTIONS)
    bid = ~(person | auction)
    return {
        "person": _people(chance, people[person], times[person]),
        "auction": _auctions(chance, people[auction], auctions[auction], times[auction]),
        "bid": _bids(chance, people[bid], auctions[bid], times[bid]),
    }


def write(folder: Path, tables: Mapping[str, pa.Table], piece: int, pieces: int) -> None:
    """Piece number `piece` of `pieces` of every stream as the next file of its log below `folder`; with the
    last one the end."""
    for name, table in tables.items():
        log = folder / name
        log.mkdir(parents=True, exist_ok=True)
        first, last = (table.num_rows * n // pieces for n in (piece, piece + 1))
        temporary = log / f".{piece}"
        pq.write_table(table.slice(first, last - first), temporary)
        temporary.rename(log / batch_name(piece, "parquet"))
        if piece + 1 == pieces:
            (log / END).touch()


def _people(chance: np.random.Generator, before: Numbers, times: Numbers) -> pa.Table:
    n = len(before)
    first, last = _pick(chance, FIRST_NAMES, n), _pick(chance, LAST_NAMES, n)
    cities = _pick(chance, tuple(CITIES), n)
    card = chance.integers(0, 10_000, (n, 4))
    return pa.table(
        {
            "id": FIRST_ID + before,
            "name": [f"{a} {b}" for a, b in zip(first, last, strict=True)],
            "emailAddress": [f"{a}.{b}@example.com".lower() for a, b in zip(first, last, strict=True)],
            "creditCard": [" ".join(f"{part:04d}" for part in parts) for parts in card],
            "city": cities,
            "state": [CITIES[city] for city in cities],
            "dateTime": _timestamps(times),
            "extra": _texts(chance, n),
        }
    )


def _auctions(chance: np.random.Generator, people: Numbers, before: Numbers, times: Numbers) -> pa.Table:
    n = len(before)
    initial = _prices(chance, n)
    return pa.table(
        {
            "id": FIRST_ID + before,
            "itemName": _texts(chance, n),
            "description": _texts(chance, n),
            "initialBid": initial,
            "reserve": initial + _prices(chance, n),
            "dateTime": _timestamps(times),
            "expires": _timestamps(times + chance.integers(1_000_000, 20_000_000, n)),
            "seller": _people_of(chance, people, hot_of=4),
            "category": pa.array(chance.integers(10, 15, n), pa.int32()),
            "extra": _texts(chance, n),
        }
    )


def _bids(chance: np.random.Generator, people: Numbers, auctions: Numbers, times: Numbers) -> pa.Table:
    n = len(times)
    newest = np.maximum(auctions - 1, 0)
    any_open = newest - chance.integers(0, np.minimum(OPEN_AUCTIONS, newest + 1))
    auction = np.where(chance.random(n) < 0.5, newest // HOT * HOT, any_open)
    hot = chance.random(n) < 0.5
    channels = [f"channel-{number}" for number in chance.integers(0, 10_000, n)]
    popular = _pick(chance, HOT_CHANNELS, n)
    return pa.table(
        {
            "auction": FIRST_ID + auction,
            "bidder": _people_of(chance, people, hot_of=4),
            "price": _prices(chance, n),
            "channel": [a if is_hot else b for is_hot, a, b in zip(hot, popular, channels, strict=True)],
            "url": [f"https://www.example.com/{text}/item.htm?query=1" for text in _texts(chance, n)],
            "dateTime": _timestamps(times),
            "extra": _texts(chance, n),
        }
    )


def _people_of(chance: np.random.Generator, before: Numbers, hot_of: int) -> Numbers:
    """Somebody who is there: in one case of `hot_of` any of the active ones, else the hot one."""
    newest = np.maximum(before - 1, 0)
    active = newest - chance.integers(0, np.minimum(ACTIVE_PEOPLE, newest + 1))
    chosen: Numbers = np.where(chance.random(len(before)) * hot_of < 1, active, newest // HOT * HOT)
    return FIRST_ID + chosen


def _prices(chance: np.random.Generator, n: int) -> Numbers:
    """Cents, evenly spread over six orders of magnitude."""
    return np.rint(10.0 ** (chance.random(n) * 6) * 100).astype(np.int64)


def _pick(chance: np.random.Generator, of: Sequence[str], n: int) -> list[str]:
    return [of[i] for i in chance.integers(0, len(of), n)]


def _texts(chance: np.random.Generator, n: int) -> list[str]:
    """Eight letters each."""
    return list(
        chance.integers(ord("a"), ord("z") + 1, (n, 8), dtype=np.uint8).view("S8").ravel().astype(str)
    )


def _timestamps(times: Numbers) -> pa.Array:
    return pa.array(times, pa.timestamp("us", tz="UTC"))
