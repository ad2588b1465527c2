"""Small problems that tests share: streams of one column `k` of 8 bytes, one query `default/q`."""

from collections.abc import Mapping, Sequence
from math import inf

from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Filter, Item, Join, Operator, Project, Window
from weir_placement.model.problem import Overheads, Problem, Query
from weir_placement.model.streams import Column, Stream


def stream(name: str, rate: float, *origins: str, columns: Sequence[str] = ("k",)) -> Stream:
    return Stream(
        f"default/{name}", rate, tuple(Column(c, "BIGINT", 8.0) for c in columns), origins, 8.0 * len(columns)
    )


def cluster(cpus: Sequence[float], latency: float = 0.0, bandwidth: float = inf, **limits: float) -> Cluster:
    nodes = tuple(Node(f"n{i + 1}", cpu, **limits) for i, cpu in enumerate(cpus))
    return Cluster(nodes, Network.uniform(len(nodes), latency, bandwidth))


def filter_(name: str, source: str, column: str, selectivity: float, cost: float, *nodes: str) -> Operator:
    return Filter(
        name,
        (source,),
        (column,),
        f"{column} = 0",
        selectivity=selectivity,
        cost=cost,
        nodes=nodes,
        memory=8.0,
    )


def project(name: str, source: str, columns: Sequence[str], cost: float = 50.0) -> Operator:
    return Project(name, (source,), tuple(columns), items=tuple(Item(c, c) for c in columns), cost=cost)


def join(
    name: str, left: str, right: str, a: str, b: str, selectivity: float, cost: float = 800.0
) -> Operator:
    """`a` and `b` are qualified columns (`x.k`); the window is 5 s on either side."""
    window = Window(a.split(".")[0], b.split(".")[0], -5_000_000, 5_000_000)
    return Join(
        name,
        (left, right),
        (a, b),
        on=f"{a} = {b}",
        windows=(window,),
        selectivity=selectivity,
        cost=cost,
        memory=64.0,
    )


def problem(
    cluster_: Cluster,
    streams: Sequence[Stream],
    operators: Sequence[Operator],
    *,
    deliver_to: tuple[str, ...] = (),
    max_latency: float = inf,
    profile: tuple[Mapping[str, float], ...] = (),
    overheads: Overheads | None = None,
    fixed_order: bool = False,
) -> Problem:
    sources = {s.name.split("/")[1]: s.name for s in streams}
    query = Query("default/q", sources, tuple(operators), deliver_to, max_latency, fixed_order=fixed_order)
    return Problem(cluster_, {s.name: s for s in streams}, (query,), profile, overheads or Overheads())
