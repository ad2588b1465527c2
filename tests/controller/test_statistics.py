"""Measurements become the model's statistics."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_operator.controller.observed_state import FragmentMetrics, OperatorMetrics
from weir_operator.controller.statistics import between, measured_rates, with_measured
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Overheads, Problem

from tests.controller.scenario import query, stream

PLAN = QueryPlan(query("q"), {"f": "n1", "p": "n1"}, {"s": "n1"})
PROBLEM = Problem(
    Cluster((Node("n1", 1.0),), Network.uniform(1)),
    {"default/s": stream("s", "n1", rate=400.0)},
    (query("q"),),
    overheads=Overheads(fragment_cpu=50_000.0),
)


def reading(at: float, rows: float, kept: float, cpu: float, epoch: int = 1) -> FragmentMetrics:
    operators = {
        "s": OperatorMetrics(rows, rows),
        "f": OperatorMetrics(rows, kept),
        "p": OperatorMetrics(kept, kept),
    }
    return FragmentMetrics("q-p", epoch, at, cpu_seconds=cpu, batches=at, operators=operators)


def test_rate_selectivity_and_cpu_come_from_two_readings() -> None:
    rates = between(reading(100, 1000, 100, 5.0), reading(110, 5000, 900, 8.0))
    assert rates is not None
    assert rates.rows_in["s"] == 400.0
    assert rates.cpu == pytest.approx(300_000.0)
    assert measured_rates({"default/q": PLAN}, {"default/q": {"p": rates}}) == {"default/s": 400.0}
    measured = with_measured(PROBLEM, PLAN, frozenset({"p"}), {"p": rates})
    assert measured.query.operators[0].selectivity == pytest.approx(0.2)


def test_the_model_under_measured_statistics_gives_the_measured_cpu() -> None:
    rates = between(reading(100, 1000, 100, 5.0), reading(110, 5000, 900, 8.0))
    assert rates is not None
    measured = with_measured(PROBLEM, PLAN, frozenset({"p"}), {"p": rates})
    evaluation = evaluate(PROBLEM, Plan((measured,)))
    assert evaluation.loads["n1"].cpu(1.0) == pytest.approx(300_000.0)
    assert evaluation.headroom == pytest.approx((1e6 - 50_000) / 250_000)


def test_what_a_batch_costs_is_not_put_on_its_rows() -> None:
    """One batch a second of one input: 110,000 of the 300,000 CPU-us/s would be there without rows."""
    overheads = Overheads(fragment_cpu=50_000.0, batch_cost=40_000.0, input_batch_cost=20_000.0)
    problem = replace(PROBLEM, overheads=overheads)
    rates = between(reading(100, 1000, 100, 5.0), reading(110, 5000, 900, 8.0))
    assert rates is not None
    measured = with_measured(problem, PLAN, frozenset({"p"}), {"p": rates})
    evaluation = evaluate(problem, Plan((measured,)))
    assert evaluation.loads["n1"].cpu(1.0) == pytest.approx(300_000.0)
    assert evaluation.headroom == pytest.approx((1e6 - 110_000) / 190_000)


def test_readings_of_two_epochs_are_never_subtracted() -> None:
    assert between(reading(100, 1000, 100, 5.0), reading(110, 10, 1, 0.1, epoch=2)) is None


def test_a_few_rows_do_not_change_a_selectivity() -> None:
    rates = between(reading(100, 1000, 100, 5.0), reading(110, 1010, 110, 5.1))
    assert rates is not None
    measured = with_measured(PROBLEM, PLAN, frozenset({"p"}), {"p": rates})
    assert measured.query.operators[0].selectivity == 0.5


def test_a_process_that_only_starts_up_does_not_blow_costs_up_without_bound() -> None:
    rates = between(reading(100, 0, 0, 0.0), reading(110, 1, 1, 20.0))
    assert rates is not None
    measured = with_measured(PROBLEM, PLAN, frozenset({"p"}), {"p": rates})
    assert measured.query.operators[0].cost <= 50 * PLAN.query.operators[0].cost


def test_without_measurements_nothing_changes() -> None:
    assert with_measured(PROBLEM, PLAN, frozenset({"p"}), {}) == PLAN
    assert replace(PLAN) == PLAN
