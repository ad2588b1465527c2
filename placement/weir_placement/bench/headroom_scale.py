"""`whitewater-scale`: one plan for 10 to 10,000 operators on 10 to 1,000 nodes."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, inf, log
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from weir_placement.bench.generator import LINK, random_query
from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.plan import Result
from weir_placement.model.problem import Overheads, Problem, Query
from weir_placement.model.streams import Stream
from weir_placement.search.large import LARGE
from weir_placement.strategies import STRATEGIES

OPERATORS = (10, 100, 1_000, 10_000)
NODES = (10, 100, 1_000)
SEED = 7
LARGEST = 40
"""Operators of a query with its emitters, as in section 6.2."""
BANDWIDTH, EXCHANGE = 2e5, 5.0
"""[bytes/s] of a limited link, [CPU-us a tuple] at both ends of an exchange then."""
TIME_LIMIT = 60.0
"""[s]"""


def scale_problem(operators: int, nodes: int, seed: int = SEED, links: bool = False) -> Problem:
    """Queries of up to 40 operators (emitters among them) until there are `operators` in all, each over
    streams of its own, planned together on `nodes` nodes of 0.25 to 4 cores; with limited `links` or not."""
    chooser = random.Random(seed)
    names = [f"n{i}" for i in range(nodes)]
    queries: list[Query] = []
    streams: dict[str, Stream] = {}
    left = operators
    while left > 0:
        size = left if left <= LARGEST else min(chooser.randint(8, LARGEST), left - 4)
        emitters = chooser.randint(min(3, (size + 1) // 2), max(min(3, (size + 1) // 2), size // 3))
        one = random_query(seed * 100_000 + len(queries), emitters, size - emitters, 1)
        mark = f"q{len(queries)}"
        (query,) = one.queries
        sources = {alias: f"bench/{mark}-{alias}" for alias in query.sources}
        queries.append(replace(query, name=f"bench/{mark}", sources=sources))
        for alias, name in sources.items():
            stream = one.streams[query.sources[alias]]
            streams[name] = replace(stream, name=name, origins=(chooser.choice(names),))
        left -= size
    machines = tuple(Node(n, exp(chooser.uniform(log(0.25), log(4.0)))) for n in names)
    bandwidth = BANDWIDTH if links else inf
    cluster = Cluster(machines, Network.uniform(nodes, LINK, bandwidth))
    overheads = Overheads(exchange_cost=EXCHANGE if links else 0.0)
    return Problem(cluster, streams, tuple(queries), overheads=overheads)


@dataclass(frozen=True)
class HeadroomTiming:
    """One size: seconds of planning, the memory of the whole process, what came of it."""

    operators: int
    nodes: int
    links: bool
    queries: int
    cpu: float
    wall: float
    memory: float  # [GiB], interpreter and problem in it
    evaluations: int
    headroom: float
    bound: float
    proven: bool


def measure(operators: int, nodes: int, links: bool) -> HeadroomTiming:
    """Plans once by `auto`; run in a process of its own, for the memory."""
    auto = STRATEGIES["auto"].plan

    def planned(problem: Problem) -> Result:
        return auto(problem, objective="headroom", seed=1, time_limit=TIME_LIMIT, options={})

    planned(scale_problem(10, 10))  # loads the compiled code
    problem = scale_problem(operators, nodes, links=links)
    wall, cpu = perf_counter(), process_time()
    result = planned(problem)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert result.value is not None
    assert not result.plan.rejected
    bound = inf if result.bound is None else result.bound
    return HeadroomTiming(
        operators, nodes, links, len(problem.queries), cpu, wall, memory,
        result.evaluations, result.value, bound, result.reached,
    )  # fmt: skip


def scale(folder: Path, operators: Sequence[int] = OPERATORS, nodes: Sequence[int] = NODES) -> None:
    """Writes the page."""
    measurements: dict[tuple[int, int, bool], HeadroomTiming] = {}
    for links in (False, True):
        for size in operators:
            for count in nodes:
                # a process of its own: its peak of memory is this size's
                module = "weir_placement.bench.headroom_scale"
                command = [sys.executable, "-m", module, str(size), str(count), str(int(links))]
                printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                m = measurements[size, count, links] = HeadroomTiming(**json.loads(printed))
                print(size, count, "links limited" if links else "", f"{m.cpu:.3f} s", flush=True)
    rows = [
        (
            m.operators,
            m.nodes,
            "limited" if m.links else "free",
            m.queries,
            m.cpu,
            m.wall,
            m.memory,
            m.evaluations,
            m.headroom,
            100.0 * (m.bound / m.headroom - 1.0),
            "yes" if m.proven else "no",
            _growth(m, measurements.get((m.operators // 10, m.nodes, m.links))),
            _growth(m, measurements.get((m.operators, m.nodes // 10, m.links))),
        )
        for m in measurements.values()
    ]

    def plot(axes: Any) -> None:
        for links, style in ((False, "-"), (True, "--")):
            for count in nodes:
                some = [measurements[size, count, links] for size in operators]
                label = f"{count:,} nodes" + (", links limited" if links else "")
                axes.loglog(operators, [m.cpu for m in some], style, marker="o", label=label)
        axes.set_xlabel("operators")
        axes.set_ylabel("one plan, CPU [s]")
        axes.legend()

    write(folder, "whitewater-scale", "Headroom plans by size", f"{TEXT} {described()}", HEAD, rows, plot)


def _growth(m: HeadroomTiming, smaller: HeadroomTiming | None) -> float | str:
    return "" if smaller is None else m.cpu / smaller.cpu


HEAD = (
    "operators",
    "nodes",
    "links",
    "queries",
    "CPU [s]",
    "wall [s]",
    "memory [GiB]",
    "evaluations",
    "headroom",
    "bound above it %",
    "proven",
    "growth, operators x 10",
    "growth, nodes x 10",
)
TEXT = f"""
One plan by `auto` from a problem in memory, compiled code loaded, each size in a process of its own. Random
queries as in `whitewater-large` (up to {LARGEST} operators with their emitters, which are counted), as many
as give the operators, each over its own streams, all planned together on nodes of 0.25 to 4 cores. Growth:
the CPU time of a row over that of the row with a tenth of the operators, or of the nodes; 10 is linear.
Memory is the most that the process held, Python and the problem in it (`10 x 10` says how much that is
without a plan). Limited links: {BANDWIDTH:,.0f} bytes/s between any two nodes, {EXCHANGE:g} CPU-us at both
ends of an exchange; an evaluation then sums streams too, and the bound is that of the processors alone.
The bench named `scale` is another one: plans for network usage, to 100,000 nodes.

From {LARGE} items (operators, sources, sinks) on `auto` packs and anneals in turn (docs/headroom.md).

Seed {SEED}.
""".strip()

if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1"))))
