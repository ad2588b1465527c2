"""One query written in many ways: the order of FROM and of conditions, JOIN or WHERE, which equalities."""

from __future__ import annotations

from weir_placement.model.streams import Stream
from weir_placement.model.types import parse_schema

DISTINCT = {"s": 10.0, "t": 40.0, "u": 20.0, "v": 5.0}


def stream(name: str, rate: float, **distinct: float) -> Stream:
    return Stream(
        name, rate, parse_schema("k INT, m INT, ts TIMESTAMP"), ("n1",), 40, "ts", distinct=distinct
    )


STREAMS = {f"d/{n}": stream(f"d/{n}", 9.0 + i, k=DISTINCT[n]) for i, n in enumerate("stuv")}
CYCLIC = dict.fromkeys(("ab", "bc", "ac"), 5)


def sql(order: str, equal: tuple[str, ...], windows: dict[str, int], joined: bool = False) -> str:
    """Aliases a, b, c, d of streams s, t, u, v; equalities `ab` of their keys; windows [s] by pair."""
    tables = [f"{'stuv'['abcd'.index(a)]} {a}" for a in order]
    conditions = [f"{x}.k = {y}.k" for x, y in equal]
    conditions += [
        f"{x}.ts BETWEEN {y}.ts - INTERVAL {w} SECONDS AND {y}.ts + INTERVAL {w} SECONDS"
        for (x, y), w in windows.items()
    ]
    if not joined:
        return f"SELECT a.m AS m FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"
    clauses = [tables[0]]
    for n in range(1, len(tables)):
        own = [c for c in conditions if set(c.split()) and _last(c, order) == n]
        clauses.append(f"JOIN {tables[n]} ON {' AND '.join(own)}" if own else f"CROSS JOIN {tables[n]}")
    return f"SELECT a.m AS m FROM {' '.join(clauses)}"


def _last(condition: str, order: str) -> int:
    return max(n for n, a in enumerate(order) if f"{a}." in condition)
