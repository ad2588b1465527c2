"""A search always ends: within its time limit, with a plan that holds or an honest "not found"."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from weir_placement.bench.headroom_scale import LARGEST, scale_problem
from weir_placement.cost.evaluation import evaluate
from weir_placement.search.arrays import searches
from weir_placement.strategies import STRATEGIES

HARD = 60.0
"""[s] after which a process that has not ended is killed: start and import are in it."""
NODES = 10
ROOT = Path(__file__).parents[2]
EACH = [(name, each.name) for name, strategy in STRATEGIES.items() for each in strategy.objectives]


def planned(strategy: str, objective: str, limit: float, **options: str) -> dict[str, Any]:
    """What a process of its own says of the plan of the largest query of the benches.

    Raises:
        subprocess.TimeoutExpired: it did not end.
    """
    searches()  # compiled code is in the cache then
    arguments = json.dumps([strategy, objective, limit, options])
    command = [sys.executable, "-m", __name__, arguments]
    printed = subprocess.run(
        command, capture_output=True, text=True, timeout=HARD, check=True, cwd=ROOT
    ).stdout
    report: dict[str, Any] = json.loads(printed)
    return report


@pytest.mark.parametrize(("strategy", "objective"), EACH)
def test_every_strategy_ends_soon_after_its_time(strategy: str, objective: str) -> None:
    report = planned(strategy, objective, 0.1)
    if report["refused"]:
        assert "found in" in report["refused"] or "tries at most" in report["refused"]
    else:
        assert report["feasible"]


def test_reactive_tabu_outlives_its_table_of_configurations() -> None:
    report = planned("reactive-tabu", "headroom", 1e6, iterations="5600")
    assert report["feasible"]


def test_a_budget_too_small_for_one_placement_leaves_a_valid_plan() -> None:
    for strategy in ("exhaustive", "two-phase"):
        assert planned(strategy, "headroom", 1e6, steps="3")["feasible"], strategy


def _main(strategy: str, objective: str, limit: float, options: dict[str, str]) -> dict[str, Any]:
    problem = scale_problem(LARGEST, NODES)
    try:
        result = STRATEGIES[strategy].plan(
            problem, objective=objective, seed=1, time_limit=limit, options=options
        )
    except ValueError as error:
        return {"refused": str(error), "feasible": False}
    refused = "; ".join(r.reason for r in result.plan.rejected)
    return {
        "refused": refused,
        "feasible": evaluate(problem, result.plan).feasible,
        "seconds": result.seconds,
    }


if __name__ == "__main__":
    print(json.dumps(_main(*json.loads(sys.argv[1]))))
