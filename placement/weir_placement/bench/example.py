"""The worked examples of WhiteWater: Table 2 (section 2.1) and figure 5 (section 5.4).

The figure's costs and capacities are missing in the paper's text. With c1 = 1, c2 = 2, I1 = 100 and
I2 = 1000 its two results come out:

>>> two = two_operators(c=(1.0, 2.0), s=(1 / 2, 1 / 5), capacity=(100.0, 1000.0))
>>> for name in ("two-phase", "auto"):
...     result = plan(two, name)
...     print(name, [op.id for op in result.plan.queries[0].query.operators], round(result.value, 9))
two-phase ['o1', 'o2'] 100.0
auto ['o2', 'o1'] 500.0

Alone, o1 first does the least work (1 + 2 / 2 = 2 against 2 + 1 / 5 = 2.2), so a phase that looks at the
logical plan only keeps it; with o1 held on N1 and o2 on N2, o2 first carries five times as much.
"""

from __future__ import annotations

from pathlib import Path

from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.cost.evaluation import evaluate
from weir_placement.cost.latency import longest_path
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Filter
from weir_placement.model.plan import Plan, QueryPlan, Result
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream
from weir_placement.strategies import STRATEGIES

Pair = tuple[float, float]


def two_operators(c: Pair, s: Pair, capacity: Pair, fixed: bool = True) -> Problem:
    """Two selections over one stream of 1 tuple/s, o1 written below o2, and two nodes N1 and N2 with
    `capacity` [instructions/s]; `fixed`: o1 may run on N1 only, o2 on N2."""
    nodes = tuple(Node(f"N{k + 1}", i / 1e6) for k, i in enumerate(capacity))
    stream = Stream("d/r", 1.0, (Column("x", "BIGINT", 8.0),), ("N1",), 8.0)
    operators = tuple(
        Filter(
            f"o{k + 1}",
            ("a",) if k == 0 else ("o1",),
            ("a.x",),
            f"a.x = {k}",
            selectivity=s[k],
            cost=c[k],
            nodes=(f"N{k + 1}",) if fixed else (),
        )
        for k in range(2)
    )
    return Problem(
        Cluster(nodes, Network.uniform(2)), {"d/r": stream}, (Query("d/q", {"a": "d/r"}, operators),)
    )


def plan(problem: Problem, strategy: str) -> Result:
    """By a strategy with its defaults."""
    return STRATEGIES[strategy].plan(problem, objective="headroom", seed=1, time_limit=5.0, options={})


def table_2(problem: Problem, first: str, second: str) -> tuple[float, float, float]:
    """Latency [s], work [instructions/s at 1 tuple/s] and throughput [tuples/s] of the plan as written with
    o1 on node `first` and o2 on `second`.

    The paper's formulas, with c = (3, 4), s = (1/2, 1/5), I = (100, 1000): for C1 latency 3/100 + 4/1000
    (an instruction takes a reference core 1 us: our latency counts cores, so 7 us), work 3 + 4/2, throughput
    min(100/3, 1000/(4/2)); for C2 min(1000/3, 100/(4/2)).

    >>> p = two_operators(c=(3.0, 4.0), s=(1 / 2, 1 / 5), capacity=(100.0, 1000.0), fixed=False)
    >>> [round(v, 6) for v in table_2(p, "N1", "N2")[1:]], round(100 / 3, 6)
    ([5.0, 33.333333], 33.333333)
    >>> [round(v, 6) for v in table_2(p, "N2", "N1")[1:]]
    [5.0, 50.0]
    """
    placed = QueryPlan(problem.queries[0], {"o1": first, "o2": second}, {"a": "N1"})
    evaluation = evaluate(problem, Plan((placed,)))
    work = sum(loads.cpu(1.0) for loads in evaluation.loads.values())
    assert evaluation.headroom is not None
    return longest_path(problem, placed), work, evaluation.headroom


def example(folder: Path) -> None:
    """Both examples as a table."""
    figure = two_operators(c=(1.0, 2.0), s=(1 / 2, 1 / 5), capacity=(100.0, 1000.0))
    rows: list[list[str | float | int]] = []
    for name in ("two-phase", "auto"):
        result = plan(figure, name)
        order = ", ".join(op.id for op in result.plan.queries[0].query.operators)
        rows.append([f"section 5.4, {name}", order, result.value or 0.0, 100 if name == "two-phase" else 500])
    free = two_operators(c=(3.0, 4.0), s=(1 / 2, 1 / 5), capacity=(100.0, 1000.0), fixed=False)
    for name, where, paper in (
        ("C1", ("N1", "N2"), min(100 / 3, 1000 / 2)),
        ("C2", ("N2", "N1"), min(1000 / 3, 100 / 2)),
    ):
        rows.append([f"Table 2, {name}", "o1, o2", table_2(free, *where)[2], paper])
    write(
        folder,
        "whitewater-example",
        "The worked examples (WhiteWater, section 5.4 and Table 2)",
        "Throughput [tuples/s] of two selections on two nodes. Section 5.4: c1 = 1, c2 = 2, s1 = 1/2, "
        "s2 = 1/5, I1 = 100, I2 = 1000 (the figure's numbers are missing in the text; these give its two "
        f"results). Table 2: c = (3, 4), the paper's column by its formulas. {described()}",
        ["example", "order", "throughput", "paper"],
        rows,
    )
