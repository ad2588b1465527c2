"""One report of several policies' plans: the figures are those of the worst plan by their objective."""

from __future__ import annotations

from typing import Any, cast

import pytest
from weir_operator.planning.merged_report import merged
from weir_operator.planning.policies import PlannedPolicy
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem


def planned(policy: str, objective: str, value: float | None) -> PlannedPolicy:
    """Of a policy without queries, as far as merging reads it."""
    report: dict[str, Any] = {
        "objective": objective, "objectiveValue": value, "seconds": 1.0, "evaluations": 2, "proven": True,
        "queries": [], "flows": [], "nodes": [], "networkUsageBytes": 0.0,
    }  # fmt: skip
    return PlannedPolicy(policy, cast(Problem, None), cast(Result, None), report)


@pytest.mark.parametrize(
    ("objective", "values", "worst"),
    [
        ("headroom", (3.0, 1.5, 2.0), 1.5),
        ("headroom", (None, 1.5), 1.5),
        ("headroom", (None, None), None),
        ("network-usage", (3.0, 1.5, 2.0), 3.0),
    ],
)
def test_the_worst_is_so_in_the_direction_of_the_objective(
    objective: str, values: tuple[float | None, ...], worst: float | None
) -> None:
    report = merged([planned(f"p{i}", objective, value) for i, value in enumerate(values)])
    assert report["objectiveValue"] == worst
    assert [head["objectiveValue"] for head in report["policies"]] == list(values)


def test_only_plans_of_the_first_policy_s_objective_compare_with_its_own() -> None:
    usages = [planned("a", "network-usage", 5.0), planned("b", "network-usage", 4.0)]
    report = merged([*usages, planned("c", "headroom", 0.5)])
    assert (report["objective"], report["objectiveValue"]) == ("network-usage", 5.0)


def test_proven_within_some_plans_is_not_proven_and_names_them() -> None:
    reports = [planned(f"p{i}", "headroom", 1.0) for i in range(3)]
    assert merged(reports)["provenWithin"] is None
    reports[1].report.update(proven=False, provenWithin="swaps")
    both = merged(reports)
    assert (both["proven"], both["provenWithin"]) == (False, "swaps")
    reports[2].report.update(proven=False)
    assert merged(reports)["provenWithin"] is None
