"""`scale`: full plans and re-plans at 1,000, 10,000 and 100,000 nodes."""

from __future__ import annotations

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

from weir_placement.bench.page import write
from weir_placement.hierarchy.live import Live
from weir_placement.hierarchy.partition import hierarchy_of
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.problem import Problem
from weir_placement.network.plan_space import plan_spaces
from weir_placement.network.workload import random_problem

SIZES = (1_000, 10_000, 100_000)
ZONES = 300
CHANGES = 30
NEMO_FULL = {1_000: 0.62, 10_000: 5.7, 100_000: 59.0}
"""Seconds that NEMO (PVLDB 2024) reports for a full plan, of another workload."""
NEMO_REPLAN = 0.007
"""Seconds that it reports for a re-optimisation at 1,000 nodes."""


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

    made = []
    for q in range(queries):
        chosen = [f"s{i}" for i in random.choice(300, int(random.integers(2, 5)), replace=False)]
        made.append(join_query(f"bench/q{q}", chosen, f"n{random.integers(nodes)}", 1e-3, cost=50.0))
    group = np.arange(nodes) % ZONES if zonal else np.arange(nodes)
    network = Network(group, latency, np.broadcast_to(np.array(1.25e8), latency.shape))
    return Problem(Cluster(machines, network), origins, tuple(made), max_cluster_size=16)


@dataclass(frozen=True)
class Measured:
    """One size; seconds, CPU and wall; memory [GiB] is the most the whole process held."""

    nodes: int
    cpu: float
    wall: float
    hierarchy: float
    spaces: float
    placed: int
    rate: float
    node: float
    link: float
    memory: float
    busy: float


def measure(nodes: int) -> Measured:
    """Plans and re-plans; run in a process of its own, for the memory."""
    problem = scale_problem(nodes)
    Live(scale_problem(200, queries=200))  # loads and compiles what is compiled
    started, cpu = perf_counter(), process_time()
    live = Live(problem)
    cpu, wall = process_time() - cpu, perf_counter() - started
    started = process_time()
    hierarchy_of(problem.cluster, "", 16)
    hierarchy = process_time() - started
    started = process_time()
    plan_spaces(problem, problem.queries)
    spaces = process_time() - started
    used = 1.0 - live.ledger.cpu / np.array([n.cpu_capacity for n in problem.cluster.nodes])
    random = np.random.default_rng(2)
    placed = len(live.placed)
    busy = float(used.max())

    def each(change: Callable[[], object]) -> float:
        times = []
        for _ in range(CHANGES):
            before = process_time()
            change()
            times.append(process_time() - before)
        return median(times)

    streams = list(problem.streams)
    rate = each(lambda: live.change_rate(streams[random.integers(300)], float(random.uniform(20, 500))))
    group = problem.cluster.network.group

    def any_link() -> object:
        a, b = random.choice(len(problem.cluster), 2, replace=False)
        factor = float(random.uniform(0.5, 2.0))
        return live.change_link(
            int(a), int(b), factor * live.problem.cluster.network.latency[group[a], group[b]]
        )

    def any_node() -> object:
        return live.remove_node(
            int(random.choice([n for n in live.users if live.users[n] and n in live.hierarchy.of[0]]))
        )

    link, node = each(any_link), each(any_node)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Measured(nodes, cpu, wall, hierarchy, spaces, placed, rate, node, link, memory, busy)


def scale(folder: Path, sizes: tuple[int, ...] = SIZES) -> None:
    """Writes the page."""
    found = []
    for nodes in sizes:
        # a process of its own: its peak of memory is this size's
        command = [sys.executable, "-m", "weir_placement.bench.scale", str(nodes)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found.append(Measured(**json.loads(printed)))
    header = (
        "nodes",
        "full plan CPU [s]",
        "wall [s]",
        "of it hierarchy [s]",
        "of it plan spaces [s]",
        "NEMO full [s]",
        "ours / NEMO",
        "placed of 1,000",
        "re-plan rate [ms]",
        "re-plan node [ms]",
        "re-plan link [ms]",
        "NEMO re-plan [ms]",
        "memory [GiB]",
        "busiest node",
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
            1e3 * m.rate,
            1e3 * m.node,
            1e3 * m.link,
            1e3 * NEMO_REPLAN if m.nodes == 1_000 else "-",
            m.memory,
            m.busy,
        )
        for m in found
    ]
    growth = found[-1].cpu / found[0].cpu
    text = (
        "Snapshot in memory to placed queries, hierarchy and plan spaces built anew: 1,000 queries over 2 to "
        "4 of 300 streams, limits on CPU, memory, egress, ingress and links; one core. Links are node pairs "
        "at 1,000 and 10,000 nodes, pairs of 300 zones at 100,000. Re-plans are medians over 30 random "
        "single changes of a rate, a node that is in use, a link.\n\n"
        "NEMO (PVLDB 2024) is another workload on another machine: one join query whose sources are a part "
        "of the nodes. Its figures stand beside ours for the order of size only. CPU is what this process "
        "used: the machine was shared with other work, so wall times are longer than they need be.\n\n"
        f"T({found[-1].nodes:,}) / T({found[0].nodes:,}) = {growth:.1f}; n log n would be 167."
    )

    def plot(axes: object) -> None:
        axes.loglog([m.nodes for m in found], [m.cpu for m in found], marker="o", label="Weir, 1,000 queries")  # type: ignore[attr-defined]
        axes.loglog(list(NEMO_FULL), list(NEMO_FULL.values()), marker="s", label="NEMO, as reported")  # type: ignore[attr-defined]
        axes.set_xlabel("nodes")  # type: ignore[attr-defined]
        axes.set_ylabel("full plan [s]")  # type: ignore[attr-defined]
        axes.legend()  # type: ignore[attr-defined]

    write(folder, "scale", "Full plans and re-plans to 100,000 nodes", text, header, rows, plot)


if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1])))))
