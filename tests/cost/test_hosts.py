"""Hosts of a plan, and their fixed price: once for each class and node, or for each process of a fragment."""

from dataclasses import replace

import pytest
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Overheads, Problem, Query

from tests.cost.example import cluster, filter_, problem, stream

CHAIN = (filter_("f", "a", "a.k", 0.5, 100), filter_("g", "f", "a.k", 0.5, 100))
PRICE = Overheads(fragment_cpu=1e4, fragment_memory=10.0, host_cpu=1e5, host_memory=1000.0)


def two(classes: tuple[str, str], processes: int = 1) -> Problem:
    base = problem(cluster([1.0, 1.0]), [stream("a", 10, "n1")], CHAIN, overheads=PRICE)
    queries = tuple(
        Query(f"default/q{i}", {"a": "default/a"}, CHAIN, processes=processes, sharing_class=name)
        for i, name in enumerate(classes)
    )
    return replace(base, queries=queries)


def placed(p: Problem, *nodes: str) -> Plan:
    """`nodes`: of f and g of the first query, then of the second."""
    pairs = zip(nodes[::2], nodes[1::2], strict=True)
    plans = (QueryPlan(q, {"f": f, "g": g}, {"a": "n1"}) for q, (f, g) in zip(p.queries, pairs, strict=True))
    return Plan(tuple(plans))


@pytest.mark.parametrize(
    ("classes", "nodes", "hosts", "on_n1"),
    [
        (("c", "c"), ("n1", "n1", "n1", "n1"), 1, 1),
        (("c", "d"), ("n1", "n1", "n1", "n1"), 2, 2),
        (("c", "c"), ("n1", "n2", "n1", "n1"), 2, 1),
        (("", ""), ("n1", "n1", "n1", "n1"), 2, 2),
        (("", "c"), ("n1", "n2", "n1", "n2"), 4, 2),
    ],
)
def test_a_host_is_paid_for_once(
    classes: tuple[str, str], nodes: tuple[str, ...], hosts: int, on_n1: int
) -> None:
    p = two(classes)
    evaluation = evaluate(p, placed(p, *nodes))
    assert evaluation.hosts == hosts
    loads = evaluation.loads["n1"]
    work = sum((1000.0 if op == 0 else 500.0) for k, n in enumerate(nodes) if n == "n1" for op in [k % 2])
    fragments = sum(
        (g == "n1") + (f == "n1" and f != g) for f, g in zip(nodes[::2], nodes[1::2], strict=True)
    )
    assert loads.cpu(1.0) == pytest.approx(work + 1e4 * fragments + 1e5 * on_n1)
    assert loads.memory(1.0) == pytest.approx(
        16.0 / 2 * nodes.count("n1") + 10.0 * fragments + 1000.0 * on_n1
    )


def test_each_process_of_a_fragment_is_a_host_unless_it_shares_one() -> None:
    alone, shared = two(("", ""), processes=3), two(("c", "c"), processes=3)
    nodes = ("n1", "n1", "n1", "n1")
    assert evaluate(alone, placed(alone, *nodes)).hosts == 6
    assert evaluate(shared, placed(shared, *nodes)).hosts == 1
    assert evaluate(alone, placed(alone, *nodes)).loads["n1"].cpu(0.0) == pytest.approx(6 * 1.1e5)
    assert evaluate(shared, placed(shared, *nodes)).loads["n1"].cpu(0.0) == pytest.approx(6e4 + 1e5)
