"""`scale`: full plans and re-plans at 1,000, 10,000 and 100,000 nodes.

References
----------
.. [1] Xenofon Chatziliadis, Eleni Tzirita Zacharatou, Alphan Eracar, Steffen Zeuch, Volker Markl, "Efficient
       Placement of Decomposable Aggregation Functions for Stream Processing over Large Geo-Distributed
       Topologies", Proceedings of the VLDB Endowment 17 (6), 2024.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.hierarchy.live import Live
from weir_placement.hierarchy.partition import hierarchy_of
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.problem import Problem
from weir_placement.network.bound import lower_bound
from weir_placement.network.plan_space import plan_spaces
from weir_placement.network.workload import random_problem

SIZES = (1_000, 10_000, 100_000)
ZONES = 300
CHANGES = 60
BOUND_SECONDS = 30.0
"""For the bound at each size."""
NEMO_FULL = {1_000: 0.62, 10_000: 5.7, 100_000: 59.0}
"""[s] for a full plan, of another workload: NEMO ([1]_)."""
NEMO_REPLAN = 0.007
"""[s] for a re-optimisation at 1,000 nodes: the same."""


def scale_problem(nodes: int, queries: int = 1_000, seed: int = 1) -> Problem:
    """Nodes on a plane of 100 ms; links between pairs of nodes, at 100,000 between pairs of zones.

    2 to 4 of 300 streams a query; CPU, memory, egress, ingress and links have limits that the
    cheapest places run into.
    """
    random = np.random.default_rng(seed)
    zonal = nodes > 20_000
    spot = random.uniform(0.0, 0.1, (ZONES if zonal else nodes, 2))
    square = (spot**2).sum(axis=1)
    latency = square[:, None] + square[None, :] - 2.0 * (spot @ spot.T)
    latency = np.sqrt(np.maximum(latency, 0.0, out=latency), out=latency)
    np.fill_diagonal(latency, 2e-4)
    small = random_problem(np.zeros((2, 2)), streams=300, queries=1, width=2, seed=seed, cost=50.0)
    machines = tuple(Node(f"n{i}", cpu=0.5, memory=4e9, egress=1.25e7, ingress=1.25e7) for i in range(nodes))
    origins = {name: replace(s, origins=(f"n{random.integers(nodes)}",)) for name, s in small.streams.items()}
    from weir_placement.network.workload import join_query

    joins = []
    for q in range(queries):
        chosen = [f"s{i}" for i in random.choice(300, int(random.integers(2, 5)), replace=False)]
        joins.append(join_query(f"bench/q{q}", chosen, f"n{random.integers(nodes)}", 1e-3, cost=50.0))
    group = np.arange(nodes) % ZONES if zonal else np.arange(nodes)
    network = Network(group, latency, np.broadcast_to(np.array(1.25e8), latency.shape))
    return Problem(Cluster(machines, network), origins, tuple(joins), max_cluster_size=16)


OneChange = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """One size; seconds, CPU and wall; memory [GiB] is the most the whole process held."""

    nodes: int
    cpu: float
    wall: float
    hierarchy: float
    spaces: float
    placed: int
    mixed: float
    rate: float
    node: float
    link: float
    used_link: float
    memory: float
    busy: float
    above_bound: float
    bound_cpu: float


def measure(nodes: int) -> Timing:
    """Plans and re-plans; run in a process of its own, for the memory."""
    problem = scale_problem(nodes)
    Live(scale_problem(200, queries=200))  # loads and compiles what is compiled
    gc.collect()
    gc.freeze()  # the collector need not go through modules and snapshot again, as in the controller
    started, cpu = perf_counter(), process_time()
    live = Live(problem)
    cpu, wall = process_time() - cpu, perf_counter() - started
    started = process_time()
    hierarchy_of(problem.cluster, "", problem.max_cluster_size)
    hierarchy = process_time() - started
    started = process_time()
    plan_spaces(problem, problem.queries)
    spaces_cpu = process_time() - started
    used = 1.0 - live.ledger.cpu / np.array([n.cpu_capacity for n in problem.cluster.nodes])
    random = np.random.default_rng(2)
    placed = len(live.placed)
    busy = float(used.max())

    network = problem.cluster.network

    def any_rate() -> OneChange:
        stream, tuples = streams[random.integers(300)], float(random.uniform(20, 500))
        return lambda: live.change_rate(stream, tuples)

    def leaving(among: list[int]) -> OneChange:
        node = int(random.choice([n for n in among if n in live.hierarchy.of[0]]))
        return lambda: live.remove_node(node)

    def any_node() -> OneChange:
        return leaving(list(range(nodes)))

    def used_node() -> OneChange:
        return leaving([n for n in live.users if live.users[n]])

    def new_latency(a: int, b: int) -> OneChange:
        seconds = float(random.uniform(0.5, 2.0)) * network.link_latency(a, b)
        return lambda: live.change_link(a, b, seconds)

    def any_link() -> OneChange:
        return new_latency(*map(int, random.choice(nodes, 2, replace=False)))

    def used_link() -> OneChange:
        flows = list(live.ledger.flows)
        return new_latency(*flows[random.integers(len(flows))][1:])

    streams = list(problem.streams)
    usage = live.ledger.usage
    spaces = list(live.spaces.values())
    mixed = _each(lambda: (any_rate, any_node, any_link)[random.integers(3)]())
    rate, node, link, busy_link = _each(any_rate), _each(used_node), _each(any_link), _each(used_link)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    started = process_time()
    bound = lower_bound(problem, spaces, usage, perf_counter() + BOUND_SECONDS)
    bound_cpu = process_time() - started
    above = 100.0 * (usage / bound - 1.0)
    return Timing(
        nodes, cpu, wall, hierarchy, spaces_cpu, placed, mixed, rate, node, link, busy_link, memory, busy,
        above, bound_cpu,
    )  # fmt: skip


def _each(draw: Callable[[], OneChange]) -> float:
    """The median CPU seconds of changes that are drawn, the drawing itself not counted."""
    times = []
    for _ in range(CHANGES):
        change = draw()
        before = process_time()
        change()
        times.append(process_time() - before)
    return median(times)


def scale(folder: Path, sizes: tuple[int, ...] = SIZES) -> None:
    """Writes the page."""
    timings = []
    for nodes in sizes:
        # a process of its own: its peak of memory is this size's
        command = [sys.executable, "-m", "weir_placement.bench.scale", str(nodes)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        timings.append(Timing(**json.loads(printed)))
    header = (
        "nodes",
        "full plan CPU [s]",
        "wall [s]",
        "of it hierarchy [s]",
        "of it plan spaces [s]",
        "NEMO full [s]",
        "ours / NEMO",
        "placed of 1,000",
        "re-plan, any change [ms]",
        "re-plan rate [ms]",
        "re-plan node [ms]",
        "re-plan link [ms]",
        "re-plan used link [ms]",
        "NEMO re-plan [ms]",
        "memory [GiB]",
        "busiest node",
        "above the bound %",
        "bound CPU [s]",
    )
    rows = [
        (
            m.nodes,
            m.cpu,
            m.wall,
            m.hierarchy,
            m.spaces,
            NEMO_FULL[m.nodes],
            m.cpu / NEMO_FULL[m.nodes],
            m.placed,
            1e3 * m.mixed,
            1e3 * m.rate,
            1e3 * m.node,
            1e3 * m.link,
            1e3 * m.used_link,
            1e3 * NEMO_REPLAN if m.nodes == 1_000 else "-",
            m.memory,
            m.busy,
            m.above_bound,
            m.bound_cpu,
        )
        for m in timings
    ]
    growth = timings[-1].cpu / timings[0].cpu
    text = (
        "Snapshot in memory to placed queries, hierarchy and plan spaces built anew: 1,000 queries over 2 to "
        "4 of 300 streams, limits on CPU, memory, egress, ingress and links; one core. Links are node pairs "
        "at 1,000 and 10,000 nodes, pairs of 300 zones at 100,000. Re-plans are medians over 60 random "
        "single changes: any (a rate, a node, a link, each as likely), then of a rate, of a node in use, of "
        "any link, of a link in use. Nothing is left out: what a change touches is planned again, and the "
        "node's own cost of leaving the hierarchy is in it.\n\n"
        "Queries share derived streams where that is cheaper. The bound (shares of flows and prices of all "
        f"capacities, up to {BOUND_SECONDS:.0f} s, found apart) is below every plan; above 1,024 nodes it "
        "takes close nodes together, which makes it looser.\n\n"
        "NEMO ([cited here](../papers.md#besides)) is another workload on another machine: one aggregation "
        "whose sources are a part of the nodes. Its figures stand beside ours for the order of size only. "
        "CPU is what this process used, of one core; wall times are longer where the machine "
        "had other work.\n\n"
        f"T({timings[-1].nodes:,}) / T({timings[0].nodes:,}) = {growth:.1f}; n log n would be 167.\n\n"
        f"Seeds: 1 (workload), 2 (changes). {described()}"
    )

    def plot(axes: object) -> None:
        cpu = [m.cpu for m in timings]
        axes.loglog([m.nodes for m in timings], cpu, marker="o", label="Weir, 1,000 queries")  # type: ignore[attr-defined]
        axes.loglog(list(NEMO_FULL), list(NEMO_FULL.values()), marker="s", label="NEMO, as reported")  # type: ignore[attr-defined]
        axes.set_xlabel("nodes")  # type: ignore[attr-defined]
        axes.set_ylabel("full plan [s]")  # type: ignore[attr-defined]
        axes.legend()  # type: ignore[attr-defined]

    write(folder, "scale", "Full plans and re-plans to 100,000 nodes", text, header, rows, plot)


if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1])))))
