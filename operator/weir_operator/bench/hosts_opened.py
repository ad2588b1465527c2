"""`hosts-opened`: hosts of plans for the most headroom, and of those for a headroom that is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from random import Random
from statistics import median

import numpy as np
from weir_placement.bench.machine import described
from weir_placement.bench.page import Row, write
from weir_placement.bench.whitewater import small_queries
from weir_placement.cost.evaluation import Evaluation, evaluate
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Filter, Join, Operator, Window
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream
from weir_placement.search.auto import AUTO

from weir_operator.api.headroom import HeadroomSpec
from weir_operator.manifests.load import load

FLIGHTS = "examples/flights"
ENOUGH = HeadroomSpec().enough
SECONDS = 20.0
"""For each plan."""
SMALL = 100
"""Queries of whitewater-small."""
MANY, SITES, NODES_OF_SITE, STREAMS = 1_000, 4, 4, 40
"""Small queries, and where they run."""
WITHIN, BETWEEN = 0.0005, 0.02
"""[s] between nodes of one site, and of two."""


@dataclass(frozen=True)
class Opened:
    """Two plans of one problem."""

    before: Evaluation
    after: Evaluation
    result: Result

    @classmethod
    def of(cls, problem: Problem) -> Opened:
        """By `auto`, for the most headroom and for one that is enough."""
        most = AUTO.plan(problem, objective="headroom", seed=1, time_limit=SECONDS)
        result = AUTO.plan(replace(problem, enough=ENOUGH), objective="headroom", seed=1, time_limit=SECONDS)
        return cls(evaluate(problem, most.plan), evaluate(problem, result.plan), result)

    @property
    def least(self) -> int:
        """Hosts that any plan with enough headroom has; of a plan without it, those that it has."""
        return self.result.cost.least_hosts if self.result.cost else self.after.hosts


def flights() -> list[Problem]:
    """The example's queries on their four sites.

    Raises:
        ManifestError: there is no such folder here.
    """
    return [group.problem for group in load([FLIGHTS]).built.groups]


def small_of_whitewater() -> list[Problem]:
    """The queries of the page whitewater-small, two nodes each."""
    return small_queries(SMALL)


def many_small() -> list[Problem]:
    """1,000 queries of 1 to 20 rows/s: a selection, or two that are joined within 5 s, on nodes of 4 cores in
    four sites 20 ms apart."""
    chooser = Random(1)
    names = [f"s{k}-{i}" for k in range(SITES) for i in range(NODES_OF_SITE)]
    nodes = tuple(Node(name, 4.0, zone=name.split("-")[0]) for name in names)
    group = np.repeat(np.arange(SITES), NODES_OF_SITE)
    latency = np.where(np.eye(SITES, dtype=bool), WITHIN, BETWEEN)
    network = Network(group, latency, np.full((SITES, SITES), inf))
    columns = (Column("k", "BIGINT", 8.0), Column("v", "BIGINT", 8.0))
    streams = {
        f"bench/s{i}": Stream(
            f"bench/s{i}", chooser.uniform(1.0, 20.0), columns, (chooser.choice(names),), 100.0
        )
        for i in range(STREAMS)
    }
    queries = tuple(_small_query(f"bench/q{i}", chooser) for i in range(MANY))
    return [Problem(Cluster(nodes, network), streams, queries)]


def _small_query(name: str, chooser: Random) -> Query:
    chosen = chooser.sample(range(STREAMS), chooser.randint(1, 2))
    sources = {f"t{k}": f"bench/s{i}" for k, i in enumerate(chosen)}
    operators: list[Operator] = [
        Filter(f"f{k}", (f"t{k}",), (f"t{k}.v",), f"t{k}.v > 5", selectivity=chooser.random(), cost=20.0)
        for k in range(len(chosen))
    ]
    if len(chosen) > 1:
        window = Window("t0", "t1", -5_000_000, 5_000_000)
        keys = ("t0.k", "t1.k")
        operators.append(
            Join("j", ("f0", "f1"), keys, on="t0.k = t1.k", windows=(window,), selectivity=0.01, cost=800.0)
        )
    return Query(name, sources, tuple(operators))


PROBLEMS: dict[str, Callable[[], list[Problem]]] = {
    "flights": flights,
    "whitewater-small": small_of_whitewater,
    "1,000 small queries": many_small,
}


def shared(problem: Problem) -> Problem:
    """Every fragment in the host of its node."""
    return replace(problem, queries=tuple(replace(q, sharing_class="all") for q in problem.queries))


def hosts_opened(folder: Path) -> None:
    """`weir bench hosts-opened`: a few minutes."""
    rows: list[Row] = []
    for name, problems in PROBLEMS.items():
        for isolation, change in (("Dedicated", lambda p: p), ("Shared", shared)):
            opened = [Opened.of(change(problem)) for problem in problems()]
            rows.append((name, isolation, *_figures(opened)))
            print(*rows[-1], flush=True)
    write(
        folder,
        "hosts-opened",
        "Hosts that plans open when headroom is enough",
        f"{TEXT} {described()}",
        HEAD,
        rows,
    )


def _figures(opened: Sequence[Opened]) -> Row:
    return (
        sum(each.before.hosts for each in opened),
        sum(each.after.hosts for each in opened),
        sum(each.least for each in opened),
        median(each.before.rank for each in opened),
        median(each.after.rank for each in opened),
        sum(each.before.network_usage for each in opened),
        sum(each.after.network_usage for each in opened),
        f"{sum(each.result.cost is not None for each in opened)} of {len(opened)}",
        f"{sum(each.result.reached for each in opened)} of {len(opened)}",
    )


HEAD = (
    "queries",
    "isolation",
    "hosts, most headroom",
    "hosts, enough",
    "at least",
    "headroom (median), most",
    "headroom (median), enough",
    "bytes in transit, most",
    "bytes in transit, enough",
    "problems with enough",
    "proved",
)
TEXT = f"""
Each problem is planned by `auto` twice, in at most {SECONDS:g} s: for the most headroom, and for the least
cost among the plans with a headroom of {ENOUGH:g} at least
([why that is enough](../headroom.md#when-headroom-is-enough)); where none has so much, for the most again.
Dedicated: a host is a process of a fragment. Shared: one for all fragments on a node. `whitewater-small` is
{SMALL} problems of one query, whose hosts are added up; the other two are one problem each. "At least" is a
bound: no plan with enough headroom has fewer hosts. "Proved": nothing costs less, in hosts and then in
network usage, or no plan has more headroom where none has enough; over the plans that the searches look at.
"""
