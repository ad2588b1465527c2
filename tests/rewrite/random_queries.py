"""Random queries as SQL, and random rows with ties, equal timestamps, nulls and empty streams."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.types import parse_schema
from weir_placement.rewrite.sql import query_from_sql

SECOND = 1_000_000
TIMES = {"d/s": "ts", "d/t": "ts", "d/u": "at"}
STREAMS = {
    "d/s": Stream("d/s", 10, parse_schema("k INT, m INT, x INT, ts TIMESTAMP"), ("n",), 40, "ts", 1),
    "d/t": Stream("d/t", 20, parse_schema("k INT, m INT, y INT, ts TIMESTAMP"), ("n",), 40, "ts", 2),
    "d/u": Stream("d/u", 5, parse_schema("k INT, m BIGINT, z INT, w INT, at TIMESTAMP"), ("n",), 40, "at", 0),
}
OWN = {"d/s": "x", "d/t": "y", "d/u": "z"}
KEYS = ["k", "k", "k", "m"]


@dataclass(frozen=True)
class Made:
    """A query with the SQL it came from."""

    sql: str
    query: Query


def rows(random: Random, most: int = 7) -> dict[str, list[dict[str, int | None]]]:
    """A few rows of each stream, some streams empty; values and times collide often."""
    data = {}
    for name, stream in STREAMS.items():
        count = random.choice([0, 1, 3, most, most]) if random.random() < 0.3 else most
        data[name] = [{c.name: _value(random, c.type) for c in stream.columns} for _ in range(count)]
    return data


def _value(random: Random, kind: str) -> int | None:
    if kind == "TIMESTAMP":
        return (100 + random.choice([0, 1, 2, 3, 3, 4, 6, 9])) * SECOND + random.choice([0, 0, 1])
    return random.choice([None, 0, 1, 1, 1, 2])


def _window(random: Random, a: str, b: str, clock: dict[str, str]) -> str:
    ta, tb = f"{a}.{clock[a]}", f"{b}.{clock[b]}"
    below, above = random.choice([(5, 5), (3, 3), (0, 4), (2, 6), (9, 0)])
    low = f"{tb} - INTERVAL {below} SECONDS" if below else tb
    high = f"{tb} + INTERVAL {above} SECONDS" if above else tb
    if random.random() < 0.5:
        return f"{ta} BETWEEN {low} AND {high}"
    return f"{ta} {random.choice(['>', '>='])} {low} AND {high} {random.choice(['>', '>='])} {ta}"


def _condition(random: Random, aliases: list[str], names: dict[str, str]) -> str:
    a = random.choice(aliases)
    own = f"{a}.{OWN[names[a]]}"
    b = random.choice(aliases)
    return random.choice(
        [
            f"{own} > 0",
            f"{own} = 1",
            f"{own} IS NULL",
            f"NOT {own} = 1",
            f"{a}.k <= 1 AND {own} IS NOT NULL",
            f"({own} = 0 OR {b}.k = 1)",
            f"{own} <> {b}.{OWN[names[b]]}",
            f"coalesce({own}, 1) + {b}.k > 1",
        ]
    )


def select(random: Random, most: int = 3, grouped: bool | None = None) -> str:
    """One SELECT over one to `most` streams."""
    count = random.randint(1, most)
    aliases = list("abcd"[:count])
    names = {alias: random.choice(list(STREAMS)) for alias in aliases}
    clock = {alias: TIMES[names[alias]] for alias in aliases}
    conditions = []
    for i, alias in enumerate(aliases[1:], 1):
        earlier = random.choice(aliases[:i])
        key = random.choice(KEYS)
        conditions += [f"{earlier}.{key} = {alias}.{random.choice([key, key, 'k'])}"]
        first, second = random.sample([earlier, alias], 2)
        conditions.append(_window(random, first, second, clock))
        if random.random() < 0.4:
            other = random.choice(aliases[:i])
            conditions.append(f"{other}.{random.choice(KEYS)} = {alias}.{random.choice(KEYS)}")
        if random.random() < 0.3:
            conditions.append(_window(random, random.choice(aliases[:i]), alias, clock))
    conditions += [_condition(random, aliases, names) for _ in range(random.randint(0, 2))]
    random.shuffle(conditions)
    source = ", ".join(f"{names[a].removeprefix('d/')} {a}" for a in aliases)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if grouped or (grouped is None and random.random() < 0.25):
        time = f"{aliases[-1]}.{clock[aliases[-1]]}"
        items = f"window.start AS begins, {aliases[0]}.k AS k, count(*) AS n, sum({aliases[-1]}.k) AS total"
        return f"SELECT {items} FROM {source}{where} GROUP BY window({time}, '4 seconds'), {aliases[0]}.k"
    items = [f"{a}.{OWN[names[a]]} AS {a}_own" for a in random.sample(aliases, random.randint(1, count))]
    items += random.choice(
        [[], [f"{aliases[0]}.k + 1 AS more"], [f"{aliases[-1]}.{clock[aliases[-1]]} AS at"]]
    )
    return f"SELECT {', '.join(items)} FROM {source}{where}"


def query(random: Random, most: int = 3) -> Made:
    """A random query; windows that contradict each other are drawn again."""
    while True:
        sql = select(random, most)
        try:
            return Made(sql, query_from_sql("d/q", sql, STREAMS))
        except ValueError as error:
            if "contradict" not in str(error):
                raise
