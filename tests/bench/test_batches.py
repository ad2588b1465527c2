"""Costs of a batch, of a row and of a process, told apart from what processes took."""

import json
from pathlib import Path

import pytest
from weir_operator.bench.batches import BLOCK, WARM, BatchCost, Commit, alternating, cost_of_batch, fitted
from weir_operator.bench.calibrate import PLANS, fit_costs
from weir_operator.bench.calibration import drawn, in_order, predicted
from weir_operator.local.calibration import Calibration
from weir_placement.model.problem import Overheads


def commits(sizes: list[int], batch: float, row: float) -> list[Commit]:
    """Twice the cost while code is compiled; in a block garbage is collected."""
    series, cpu = [], 3.0
    for number, size in enumerate(sizes):
        slow = 2.0 if number < WARM * 2 * BLOCK else 1.5 if number in (22, 33) else 1.0
        cpu += 1e-6 * slow * (batch + row * size)
        series.append(Commit(number, cpu))
    return series


def test_batches_and_rows_are_told_apart() -> None:
    cost = fitted(commits(alternating(), 120_000.0, 14.0))
    assert (cost.batch, cost.row) == pytest.approx((120_000.0, 14.0))


def test_commits_may_be_missed() -> None:
    seen = commits(alternating(), 120_000.0, 14.0)
    cost = fitted([one for one in seen if one.batch % 7 != 3])
    assert (cost.batch, cost.row) == pytest.approx((120_000.0, 14.0), rel=0.2)
    with pytest.raises(OSError, match="only 0 blocks of small and 0 of large batches"):
        fitted(seen[::BLOCK])
    with pytest.raises(OSError, match="no block"):
        cost_of_batch(seen[: WARM * 2 * BLOCK])


def test_the_median_batch() -> None:
    assert cost_of_batch(commits([500] * 60, 100_000.0, 20.0)) == pytest.approx(110_000.0)


ROWS = {"filter": 2.0, "project": 0.5, "aggregate": 6.0, "join": 40.0, "union": 0.25}
OUT, READ, FLOW = 3.0, 11.0, 5.0
OVERHEADS = Overheads(
    fragment_cpu=8_000.0, batch_cost=90_000.0, input_batch_cost=20_000.0, state_batch_cost=12_000.0
)


def cost(row: float, inputs: int, kept: int) -> BatchCost:
    o = OVERHEADS
    return BatchCost(o.batch_cost + inputs * o.input_batch_cost + kept * o.state_batch_cost, row)


def test_costs_are_those_that_the_fragments_were_made_of() -> None:
    """1000 rows/s of each stream, 2000 keys: a row finds 0.05 in the near window, 2 in the far one."""
    taken = {
        "filter": [cost(READ + 2, 1, 0)],
        "filters": [cost(READ + 8, 1, 0)],
        "project": [cost(READ + 0.5, 1, 0)],
        "aggregate": [cost(READ + 6, 1, 1)],
        "join": [cost(2 * (READ + 40) + OUT * 0.05, 2, 2)],
        "join-wide": [cost(2 * (READ + 40) + OUT * 2, 2, 2)],
        "union": [cost(2 * (READ + 0.75), 2, 0)],
        "flow": [cost(READ + 2 + FLOW, 1, 0), cost(FLOW + 2, 1, 0)],
    }
    assert taken.keys() == PLANS.keys()
    fit = fit_costs(taken, OVERHEADS.fragment_cpu)
    assert fit.costs == pytest.approx(ROWS)
    assert (fit.out, fit.read, fit.overheads.exchange_cost) == pytest.approx((OUT, READ, FLOW))
    for name in ("fragment_cpu", "batch_cost", "input_batch_cost", "state_batch_cost"):
        assert getattr(fit.overheads, name) == pytest.approx(getattr(OVERHEADS, name)), name


def test_the_plans_are_of_eight_shapes_that_the_fit_never_saw() -> None:
    plans = drawn()
    seen = {tuple(op.kind for op in plan.query.operators) for plan in PLANS.values()}
    shapes = [tuple(op.kind for op in one.plan.query.operators) for one in plans]
    assert len(plans) == 8
    assert (
        len({(shape, tuple(set(one.plan.nodes.values()))) for shape, one in zip(shapes, plans, strict=True)})
        == 8
    )
    assert not seen & set(shapes)
    assert [one.rows for one in drawn(1)] != [one.rows for one in plans]


def test_a_smaller_batch_costs_more_a_row() -> None:
    """A fragment with a join over two streams: a batch costs it 90 + 2 x 20 + 2 x 12 ms."""
    one = next(one for one in drawn() if one.shape == "join, filter")
    calibrated = Calibration(ROWS, 0.0, 0.0, OVERHEADS)
    free = Calibration(ROWS)
    per_row = [1e6 / predicted(one, each) for each in (calibrated, free)]
    assert per_row[0] - per_row[1] == pytest.approx(154_000.0 / one.rows)


def test_order_is_asked_of_plans_that_differ() -> None:
    assert in_order([(100.0, 100.0), (90.0, 110.0), (50.0, 200.0), (300.0, 400.0)]) == (5, 3)


def test_a_file_from_before_batches_had_costs_is_read(tmp_path: Path) -> None:
    """Its plans have the loads that they had; what is saved now is read as it was."""
    old = {"fragment_cpu": 5e4, "fragment_memory": 7e8, "exchange_cost": 10.0, "exchange_latency": 0.5}
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps({"costs": {"filter": 1.0}, "out": 5.0, "read": 10.0, "overheads": old}))
    overheads = Calibration.load(file).overheads
    assert (overheads.process_cpu, overheads.input_cpu, overheads.state_cpu) == (5e4, 0.0, 0.0)
    new = Calibration(ROWS, OUT, READ, OVERHEADS)
    new.save(file)
    assert Calibration.load(file) == new
