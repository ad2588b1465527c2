"""Scores an earlier plan against today's manifests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Rejection, Result
from weir_placement.objectives import HEADROOM, OBJECTIVES
from weir_placement.report import read_plan, report

from weir_operator.manifests.finding import Finding, ManifestError
from weir_operator.manifests.problem import PolicyProblem
from weir_operator.planning.policies import PlannedPolicy


def evaluate_plan(groups: Sequence[PolicyProblem], file: Path) -> PlannedPolicy:
    """The plan's report on today's problem. All policies' queries are scored together; a resource that the
    expected rates overload makes the plan infeasible.

    Raises:
        ManifestError: the file is not a plan, or names something that the manifests do not have.
    """
    document = read_report(file)
    if not groups:
        raise ManifestError([Finding(None, "", "the manifests have no query", "give a StreamQuery")])
    first = groups[0]
    streams = {name: s for group in groups for name, s in group.problem.streams.items()}
    queries = tuple(query for group in groups for query in group.problem.queries)
    problem = replace(first.problem, streams=streams, queries=queries)
    try:
        plan = read_plan(problem, document)
    except (ValueError, KeyError, TypeError) as error:
        raise refused(file, error) from None
    placed = {one.query.name for one in plan.queries}
    missing = tuple(Rejection(q.name, "the plan does not place it") for q in queries if q.name not in placed)
    plan = replace(plan, rejected=(*plan.rejected, *missing))
    evaluation = evaluate(problem, plan)
    name = document.get("objective")
    objective = OBJECTIVES.get(str(name), OBJECTIVES.get(first.policy.spec.objective, HEADROOM))
    result = Result(
        plan=plan,
        strategy="given",
        objective=objective.name,
        value=objective.value(evaluation),
        bound=None,
        proven=False,
        evaluations=1,
        seconds=0.0,
    )
    scores = report(problem, result)
    if problem.robustness:
        scores["objectiveValue"] = scores["robust"]["worstHeadroom"]
    scores["infeasible"] += [str(reason) for reason in evaluation.overloads]
    return PlannedPolicy(first.policy.metadata.name, problem, result, scores)


def read_report(file: Path) -> dict[str, Any]:
    """The report of a plan, as `weir plan -o json` has written it.

    Raises:
        ManifestError: the file cannot be read, or is none.
    """
    right = "give what `weir plan -o json` has written"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refused(file, f"cannot be read: {error.strerror}", right) from None
    except ValueError as error:
        raise _refused(file, f"is not JSON ({error})", right) from None
    if not isinstance(document, dict) or document.get("kind") != "PlanReport":
        raise _refused(file, "it is not a PlanReport", "write one with `weir plan -o json`")
    return document


def refused(file: Path, error: Exception) -> ManifestError:
    """What to raise for a report in which something is missing or is no value for it."""
    if isinstance(error, (TypeError, AttributeError)):
        wrong = f"a field has a value of the wrong kind ({error})"
        return _refused(file, wrong, "give what `weir plan -o json` has written")
    return _refused(file, f"field {error} is missing" if isinstance(error, KeyError) else str(error))


def _refused(file: Path, wrong: str, right: str = "") -> ManifestError:
    return ManifestError([Finding(None, "", wrong, right, file=str(file))])
