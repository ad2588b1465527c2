"""`joined-rates`: the estimated rates of joined sets against counts on random rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from random import Random
from statistics import mean

from weir_placement.bench.machine import described
from weir_placement.bench.page import Row, write
from weir_placement.cost.flows import flows_of
from weir_placement.cost.load import Load
from weir_placement.model.operators import Join, Operator
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.types import parse_schema
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.rewrite.sql import query_from_sql

QUERIES = 20
SECONDS = 3000.0
SKEW = 0.5
"""Of the skewed keys: value k comes with weight 1 / (k + 1)^SKEW."""
HEADER = (
    "streams",
    "windows",
    "keys",
    "estimated: mean error %",
    "worst %",
    "bias %",
    "product of windows: mean error %",
    "other orders' sets, estimated: mean error %",
    "and with the written joins measured: mean error %",
)

Window = tuple[float, float]
Rows = Mapping[str, Mapping[int, Sequence[float]]]
"""Alias -> key -> times, ascending."""


@dataclass(frozen=True)
class Case:
    """A query of a, b, ... joined on k, its windows by pair of aliases [s], its streams and their rows."""

    query: Query
    windows: Mapping[tuple[str, str], Window]
    streams: Mapping[str, Stream]
    rows: Rows

    def count(self, aliases: Sequence[str]) -> int:
        """Rows of a joined set."""
        keys = set.intersection(*(set(self.rows[a]) for a in aliases))
        return sum(self._from(key, aliases, ()) for key in keys)

    def _from(self, key: int, aliases: Sequence[str], times: tuple[float, ...]) -> int:
        if len(times) == len(aliases):
            return 1
        low, high = -1e300, 1e300
        for other, at in zip(aliases, times, strict=False):
            least, most = self.windows.get((other, aliases[len(times)]), (-1e300, 1e300))
            low, high = max(low, at - most), min(high, at - least)
        own = self.rows[aliases[len(times)]][key]
        inside = range(bisect_left(own, low), bisect_right(own, high))
        if len(times) == len(aliases) - 1:
            return len(inside)
        return sum(self._from(key, aliases, (*times, own[n])) for n in inside)


def random_case(random: Random, width: int, cyclic: bool, skewed: bool) -> Case:
    """Rates 1 to 4 rows/s, 5 to 20 keys whose values lie within each other's, windows of 2 to 10 s."""
    aliases = "abcdef"[:width]
    schema = parse_schema("k INT, ts TIMESTAMP")
    streams, rows = {}, {}
    for alias in aliases:
        rate, values = random.uniform(1, 4), random.randint(5, 20)
        streams[f"d/{alias}"] = Stream(f"d/{alias}", rate, schema, (), 12, "ts", distinct={"k": values})
        weights = [1 / (k + 1) ** SKEW if skewed else 1.0 for k in range(values)]
        times = sorted(random.uniform(0, SECONDS) for _ in range(round(rate * SECONDS)))
        by_key: dict[int, list[float]] = defaultdict(list)
        for key, at in zip(random.choices(range(values), weights, k=len(times)), times, strict=True):
            by_key[key].append(at)
        rows[alias] = by_key
    pairs = list(combinations(aliases, 2)) if cyclic else list(pairwise(aliases))
    windows = {pair: (-float(random.randint(1, 5)), float(random.randint(1, 5))) for pair in pairs}
    conditions = [f"{x}.k = {y}.k" for x, y in pairwise(aliases)]
    for (x, y), (low, high) in windows.items():
        within = f"{y}.ts - INTERVAL {-low:.0f} SECONDS AND {y}.ts + INTERVAL {high:.0f} SECONDS"
        conditions.append(f"{x}.ts BETWEEN {within}")
    text = f"SELECT a.k AS k FROM {', '.join(aliases)} WHERE {' AND '.join(conditions)}"
    return Case(query_from_sql("d/q", text, streams), windows, streams, rows)


def rates(query: Query, streams: Mapping[str, Stream]) -> dict[tuple[str, ...], float]:
    """Of the joined sets of a plan [rows/s], in the order of the plan."""
    flows = flows_of(query, streams, {name: Load.of(s.rate) for name, s in streams.items()})
    below = {alias: {alias} for alias in query.sources}
    sets = {}
    for op in query.operators:
        below[op.id] = set().union(*(below[name] for name in op.inputs))
        if isinstance(op, Join):
            sets[tuple(sorted(below[op.id]))] = flows[op.id].rate(1.0)
    return sets


def measured(case: Case) -> Query:
    """The written query with the selectivities that its joins have on these rows."""
    counts = {alias: sum(map(len, case.rows[alias].values())) for alias in case.query.sources}
    below: dict[str, tuple[str, ...]] = {alias: (alias,) for alias in case.query.sources}
    operators: list[Operator] = []
    for op in case.query.operators:
        below[op.id] = tuple(sorted(a for name in op.inputs for a in below[name]))
        if isinstance(op, Join):
            counts[op.id] = case.count(below[op.id])
            left, right = (counts[name] / SECONDS for name in op.inputs)
            operators.append(
                replace(op, selectivity=counts[op.id] / SECONDS / (2 * op.half_width * left * right))
            )
        else:
            operators.append(op)
    return replace(case.query, operators=tuple(operators))


def _others(case: Case, query: Query) -> list[float]:
    """Errors of the sets that only other orders of the joins make [%]."""
    written = rates(query, case.streams)
    sets: dict[tuple[str, ...], float] = {}
    for plan in Rewriter(query, case.streams).reachable(300):
        sets.update(rates(plan, case.streams))
    return [_error(sets[s], case.count(s)) for s in sets.keys() - written.keys()]


def _error(rate: float, count: int) -> float:
    return 100.0 * (rate * SECONDS / count - 1.0)


def _row(width: int, cyclic: bool, skewed: bool) -> Row:
    random = Random(1000 * width + 10 * cyclic + skewed)
    errors, products, others, after = [], [], list[float](), list[float]()
    for _ in range(QUERIES):
        case = random_case(random, width, cyclic, skewed)
        whole = tuple(case.query.sources)
        count = case.count(whole)
        estimate = rates(case.query, case.streams)[whole]
        errors.append(_error(estimate, count))
        joins = [op for op in case.query.operators if isinstance(op, Join)]
        product = 1.0
        for stream in case.streams.values():
            product *= stream.rate / stream.distinct["k"]
        product *= min(s.distinct["k"] for s in case.streams.values())
        for join in joins:
            product *= 2 * join.half_width
        products.append(_error(product, count))
        others += _others(case, case.query)
        after += _others(case, measured(case))
    return (
        width,
        "all pairs" if cyclic else "a tree",
        "skewed" if skewed else "even",
        mean(map(abs, errors)),
        max(map(abs, errors)),
        mean(errors),
        mean(map(abs, products)),
        mean(map(abs, others)) if others else "-",
        mean(map(abs, after)) if after else "-",
    )


def joined_rates_page(folder: Path) -> None:
    """Section 4 of the model: rates that belong to the query."""
    rows = [
        _row(width, cyclic, skewed)
        for width in (2, 3, 4)
        for cyclic in ((False, True) if width > 2 else (False,))
        for skewed in (False, True)
    ]
    text = f"""
{QUERIES} random queries a line: streams of 1 to 4 rows/s joined on one key with 5 to 20 distinct values, each
window from 1 to 5 s before to 1 to 5 s after, {SECONDS:.0f} s of rows at random times. Counts are of all rows
that join; estimates know rates, windows and distinct values only. The values of a key come equally often
("even", what the estimate assumes), or value k with weight 1 / (k + 1)^{SKEW} ("skewed").

"Product of windows" takes the narrowest window of each written join and no volume. "Other orders' sets" are
those that joins in another order make on the way, by equalities that are only implied; first estimated, then
with the written joins' selectivities as they are on these rows.

Seeds 2000 to 4011. {described()}
"""
    write(folder, "joined-rates", "Estimated rates of joins against counts", text, HEADER, rows)
