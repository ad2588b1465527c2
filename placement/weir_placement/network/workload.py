"""Queries that join streams spread over a network, as in section 4 of Hierarchical partitions."""

from __future__ import annotations

from math import inf

import numpy as np

from weir_placement.array_types import Floats
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Join, Window
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream
from weir_placement.rewrite.joined_rate import within_all_windows

HALF_WIDTH = 5_000_000
"""[us] of every join window."""


def join_query(name: str, streams: list[str], sink: str, selectivity: float, cost: float = 0.0) -> Query:
    """All `streams` joined on one key within 5 s of each other, written left-deep; `selectivity` of a key is
    that of pairs within all windows. A source's alias is its own name, so that equal joins of different
    queries look alike."""
    operators = []
    below = streams[0]
    for i, stream in enumerate(streams[1:], 1):
        windows = tuple(Window(other, stream, -HALF_WIDTH, HALF_WIDTH) for other in streams[:i])
        on = f"{streams[i - 1]}.k = {stream}.k"
        columns = (f"{streams[i - 1]}.k", f"{stream}.k")
        join = Join(
            f"j{i}",
            (below, stream),
            columns,
            on=on,
            windows=windows,
            selectivity=selectivity,
            cost=cost,
        )
        operators.append(join)
        below = f"j{i}"
    query = Query(name, {s: f"bench/{s}" for s in streams}, tuple(operators), (sink,) if sink else ())
    return within_all_windows(query)


def random_problem(
    latency: Floats,
    *,
    streams: int,
    queries: int,
    width: int,
    seed: int,
    cpu: float = inf,
    cost: float = 0.0,
) -> Problem:
    """Streams of log-uniform rates at random nodes, queries over `width` of them to random sinks.

    Args:
        latency: shape (N, N) [s].
        cpu: [cores] of each node; cost: [CPU-us] a tuple of each join.
    """
    random = np.random.default_rng(seed)
    count = len(latency)
    nodes = tuple(Node(f"n{i}", cpu=cpu) for i in range(count))
    columns = (Column("k", "BIGINT", 8.0), Column("ts", "TIMESTAMP", 8.0))
    rates = np.exp(random.uniform(np.log(20.0), np.log(500.0), streams))
    by_name = {
        f"bench/s{i}": Stream(
            f"bench/s{i}", float(rates[i]), columns, (f"n{random.integers(count)}",), 100.0, "ts"
        )
        for i in range(streams)
    }
    joins = []
    for q in range(queries):
        chosen = [f"s{i}" for i in random.choice(streams, width, replace=False)]
        sink = f"n{random.integers(count)}"
        joins.append(join_query(f"bench/q{q}", chosen, sink, float(1.0 / (2 * 5.0 * 100.0)), cost))
    return Problem(Cluster(nodes, Network.of_matrix(latency)), by_name, tuple(joins))
