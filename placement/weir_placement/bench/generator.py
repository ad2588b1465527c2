"""Random queries as section 6 of WhiteWater makes them, with what it leaves out.

From the paper: costs 0, 20, 50 and 800, a window of 5 s, 0.06 s a link; plans built bottom up by putting
random operators on top of the present ones until one is left. Ours: source rates 1 to 100 tuples/s
(log-uniform), a filter's selectivity 0.05 to 1 (uniform), a join's such that a row finds 0.1 to 2
partners at the profile's rates of the two sources (log-uniform), node capacities 0.25 to 4 cores
(log-uniform). A filter reads one column of one source, a join compares a column of either side, a
projection keeps the key column and a random half of the others, and nothing above reads what it dropped.
"""

from __future__ import annotations

import random
from math import exp, log

from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Filter, Item, Join, Operator, Project, Window
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream

SELECT_COST, PROJECT_COST, JOIN_COST = 20.0, 50.0, 800.0
WINDOW = 5_000_000  # [us]
LINK = 0.06  # [s]
COLUMNS = ("k", "x", "y", "z")


class Builder:
    """One random query: `tops` are the results that nothing reads yet, with their columns."""

    def __init__(self, chooser: random.Random, emitters: int):
        self.random = chooser
        self.rates = {f"s{i}": self.between(1.0, 100.0) for i in range(emitters)}
        self.tops = {alias: [f"{alias}.{c}" for c in COLUMNS] for alias in self.rates}
        self.operators: list[Operator] = []

    def between(self, low: float, high: float) -> float:
        """Log-uniform."""
        return exp(self.random.uniform(log(low), log(high)))

    def add(self, op: Operator, columns: list[str]) -> None:
        """Puts an operator on top of its inputs."""
        for name in op.inputs:
            del self.tops[name]
        self.operators.append(op)
        self.tops[op.id] = columns

    def join(self) -> None:
        """Two results, by the key columns of one source each."""
        left, right = self.random.sample(sorted(self.tops), 2)
        a, b = (self.random.choice([c for c in self.tops[t] if c.endswith(".k")]) for t in (left, right))
        a, b = sorted((a, b))
        window = Window(a.split(".")[0], b.split(".")[0], -WINDOW, WINDOW)
        partners = self.between(0.1, 2.0)
        fastest = max(self.rates[window.left], self.rates[window.right])
        op = Join(
            f"o{len(self.operators)}",
            (left, right),
            (a, b),
            on=f"{a} = {b}",
            windows=(window,),
            selectivity=min(1.0, partners / (2 * window.half_width * fastest)),
            cost=JOIN_COST,
        )
        self.add(op, self.tops[left] + self.tops[right])

    def unary(self) -> None:
        """A selection or a projection on one result."""
        top = self.random.choice(sorted(self.tops))
        columns = self.tops[top]
        name = f"o{len(self.operators)}"
        if self.random.random() < 0.5:
            column = self.random.choice(columns)
            op = Filter(
                name,
                (top,),
                (column,),
                f"{column} = {len(self.operators)}",
                selectivity=self.random.uniform(0.05, 1.0),
                cost=SELECT_COST,
            )
            self.add(op, columns)
        else:
            columns_left = [c for c in columns if c.endswith(".k") or self.random.random() < 0.5]
            items = tuple(Item(c, c) for c in columns_left)
            self.add(Project(name, (top,), tuple(columns_left), items=items, cost=PROJECT_COST), columns_left)


def random_query(seed: int, emitters: int, operators: int, nodes: int, choices: int | None = None) -> Problem:
    """`operators` beside the emitters (at least emitters - 1, the joins) on `nodes` nodes, each operator
    with `choices` of them (all if None)."""
    chooser = random.Random(seed)
    builder = Builder(chooser, emitters)
    while len(builder.operators) < operators:
        joins_left = len(builder.tops) - 1
        room = operators - len(builder.operators) - joins_left
        if joins_left and (room <= 0 or chooser.random() < joins_left / (joins_left + room)):
            builder.join()
        else:
            builder.unary()
    machines = tuple(Node(f"n{i}", builder.between(0.25, 4.0)) for i in range(nodes))
    names = [n.name for n in machines]
    streams = {
        f"bench/{alias}": Stream(
            f"bench/{alias}",
            rate,
            tuple(Column(c, "BIGINT", 8.0) for c in COLUMNS),
            (chooser.choice(names),),
            32.0,
        )
        for alias, rate in builder.rates.items()
    }
    placed = [_limited(op, chooser, names, choices) for op in builder.operators]
    query = Query("bench/q", {alias: f"bench/{alias}" for alias in builder.rates}, tuple(placed))
    return Problem(Cluster(machines, Network.uniform(nodes, LINK)), streams, (query,))


def _limited(op: Operator, chooser: random.Random, names: list[str], choices: int | None) -> Operator:
    from dataclasses import replace

    return op if choices is None else replace(op, nodes=tuple(chooser.sample(names, choices)))
