"""`whitewater-limited`: how near plan and bound are where links and memory are short."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, inf, log
from pathlib import Path
from statistics import median
from time import process_time

from weir_placement.bench.generator import LINK
from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.bench.whitewater import large_queries
from weir_placement.model.cluster import Network
from weir_placement.model.problem import Problem
from weir_placement.strategies import STRATEGIES

COUNT = 30
SEED = 20
"""Of the nodes' memory."""
NEAR = 1.05
TIME_LIMIT = 60.0
"""[s] of wall time, so much that it seldom counts: the effort is limited by steps."""


@dataclass(frozen=True)
class Limits:
    """Links of such a width [bytes/s] between all nodes; their memory [bytes], log-uniform in a range."""

    name: str
    bandwidth: float
    memory: tuple[float, float] = (inf, inf)


LIMITS = (
    Limits("links of 20 kB/s", 2e4),
    Limits("links of 2 kB/s", 2e3),
    Limits("links of 20 kB/s, memory of 10 kB to 1 MB", 2e4, (1e4, 1e6)),
)


def limited(problem: Problem, limits: Limits, seed: int) -> Problem:
    """The problem on nodes and links of these limits."""
    chooser, (low, high) = random.Random(seed), limits.memory
    nodes = tuple(
        replace(node, memory=exp(chooser.uniform(log(low), log(high)))) if high < inf else node
        for node in problem.cluster.nodes
    )
    network = Network.uniform(len(nodes), LINK, limits.bandwidth)
    return replace(problem, cluster=replace(problem.cluster, nodes=nodes, network=network))


def limited_queries(limits: Limits, count: int = COUNT) -> Iterable[Problem]:
    """The first queries of `whitewater-large` under these limits."""
    return (limited(p, limits, SEED + n) for n, p in enumerate(large_queries(count)))


def limited_page(folder: Path, count: int = COUNT) -> None:
    """Writes the page."""
    rows: list[list[str | float | int]] = []
    auto = STRATEGIES["auto"].plan
    for limits in LIMITS:
        gaps, proven, seconds = [], 0, []
        for seed, problem in enumerate(limited_queries(limits, count)):
            started = process_time()
            result = auto(problem, objective="headroom", seed=seed, time_limit=TIME_LIMIT, options={})
            used = process_time() - started
            if result.value is None:
                continue
            gaps.append(inf if result.bound is None else result.bound / result.value)
            proven += result.reached
            seconds.append(used)
        gaps.sort()
        rows.append(
            [
                limits.name,
                len(gaps),
                100.0 * sum(gap <= NEAR for gap in gaps) / len(gaps),
                100.0 * (median(gaps) - 1.0),
                100.0 * (gaps[int(0.9 * (len(gaps) - 1))] - 1.0),
                100.0 * (gaps[-1] - 1.0),
                proven,
                median(seconds),
            ]
        )
    write(
        folder,
        "whitewater-limited",
        "Large queries where links and memory are short",
        f"The first {count} queries of `whitewater-large` (10 nodes) with limits, planned "
        "by `auto`. The gap is between its plan and the bound, which is above every plan. "
        f"Seeds: 10000 on (queries), {SEED} on (memory). {described()}",
        (
            "limits",
            "planned",
            f"within {100 * (NEAR - 1):.0f} %, % of them",
            "median gap %",
            "90th percentile %",
            "largest %",
            "proven",
            "processor s (median)",
        ),
        rows,
    )
