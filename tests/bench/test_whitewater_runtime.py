"""Section 6.4 of WhiteWater: the selectivities its figures imply, the plan that is found, what a run says."""

from __future__ import annotations

import pytest
from weir_operator.bench import whitewater
from weir_operator.bench import whitewater_query as query
from weir_operator.bench.paced import PacedRun, paced_run
from weir_operator.bench.whitewater import model, search, sustained
from weir_placement.fragments import groups_of


def test_the_papers_model_gives_its_rates_with_the_implied_keys() -> None:
    """Costs 20 and 800, windows of 5 s: C1's node at 8,517 is as full as C2's fuller node at 37,313."""
    for keys, off in ((query.implied(), 1e-9), (query.KEYS_C, 0.01)):
        y = 10 * query.PAPER_C1 / keys
        written = query.PAPER_C1 * (800 * (3 + y) + 20 * (100 * y * y + y * y))
        optimised = query.PAPER_C2 * (800 * 1.01 + 20)
        assert written == pytest.approx(optimised, rel=off)


def test_the_found_plan_filters_first_and_carries_more_than_the_papers() -> None:
    plan = query.headroom_plan()
    assert [op.kind for op in plan.query.operators] == ["filter", "filter", "join", "join"]
    assert set(plan.nodes.values()) == {"n1", "n2"}
    assert model(plan) > model(query.of_the_paper()) > 3 * model(query.as_written())
    assert len(groups_of(query.as_written())) == 1


def test_what_a_run_says() -> None:
    """The slowest stream of all fragments; cores add up what runs on them."""
    one = [(float(t), 0.5 * t, {"bc": 900.0 * t, "cd": 1000.0 * t}) for t in range(0, 20, 2)]
    two = [(float(t), 0.25 * t, {"ab": 950.0 * t}) for t in range(0, 20, 2)]
    apart = paced_run(1000.0, 10.0, [one, two], [0, 1], 1)
    assert (apart.sustained, apart.full, apart.by_cpu) == pytest.approx((900.0, 0.5, 1800.0))
    assert paced_run(1000.0, 10.0, [one, two], [0, 0], 1).full == pytest.approx(0.75)
    assert paced_run(800.0, 10.0, [one, two], [0, 1], 1).sustained == 800.0
    assert paced_run(1000.0, 17.0, [one[:-2], two], [0, 1], 1).rate == 0.0


def test_only_a_run_that_held_its_rate_counts() -> None:
    """At 4,701 due 4,291 came through: more than at 4,088, but not what was due."""
    low, high = PacedRun(4_088.0, 4_088.0, 0.97), PacedRun(4_701.0, 4_291.0, 0.98)
    assert sustained([low, high]) is low
    assert sustained([high]) is None


def test_rates_fall_until_one_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """What carries 10,000 rows/s is first asked for 18,000."""
    monkeypatch.setattr(
        whitewater, "measure", lambda _, due: PacedRun(due, min(due, 10_000.0), min(1.0, due / 10_000.0))
    )
    runs = search(1, 18_000.0, lambda _: None)
    best = sustained(runs)
    assert best is not None
    assert best.due <= 10_000.0 / 0.95
    assert min(run.due for run in runs if run is not best) > best.due
