"""Plans the problems of a set of policies, in the order of their priority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weir_placement.cost.budget import fragments_of, requested
from weir_placement.model.plan import Result
from weir_placement.model.problem import Placed, Problem
from weir_placement.model.suggestion import suggestion
from weir_placement.objectives import HEADROOM
from weir_placement.report import report
from weir_placement.strategies import STRATEGIES, select

from weir_operator.manifests.cluster import NodeUsage
from weir_operator.manifests.finding import Finding, Key, ManifestError
from weir_operator.manifests.options import objective_findings, option_findings
from weir_operator.manifests.problem import PolicyProblem
from weir_operator.planning.capacity import subtract, total, usage_of
from weir_operator.planning.strategy import StrategyCall


@dataclass(frozen=True)
class Overrides:
    """What the command line says instead of the policy; None keeps the policy's."""

    strategy: str | None = None
    objective: str | None = None
    options: Mapping[str, str] | None = None
    seed: int | None = None
    time_limit: float | None = None
    enough: float | None = None  # headroom

    def of(self, call: StrategyCall) -> StrategyCall:
        """The call with these in place of its own. Options of the policy are its own strategy's."""
        return StrategyCall(
            name=self.strategy or call.name,
            objective=self.objective or call.objective,
            seed=call.seed if self.seed is None else self.seed,
            time_limit=call.time_limit if self.time_limit is None else self.time_limit,
            options={**({} if self.strategy else call.options), **(self.options or {})},
        )


@dataclass(frozen=True)
class PlannedPolicy:
    """The plan of one policy's queries; `problem` has what earlier policies use taken off."""

    policy: str
    problem: Problem
    result: Result
    report: dict[str, Any]


def plan_policy(source: PolicyProblem, overrides: Overrides, problem: Problem) -> PlannedPolicy:
    """Plan the queries of one policy; `problem` is the policy's, less what others use.

    Raises:
        ManifestError: the policy or the overrides name a strategy, objective or option that is not there.
    """
    key = Key("PlacementPolicy", "", source.policy.metadata.name)
    call = overrides.of(StrategyCall.of(source.policy.spec))
    _check(call, overrides, key)
    if overrides.enough is not None:
        problem = _with_enough(problem, call.objective, overrides.enough)
    try:
        result = call.run(problem)
    except ValueError as error:  # how a strategy refuses an option's value or a node without its tier's label
        raise _refused(key, "spec.strategy", f"{call.name}: {error}", "", None) from error
    return PlannedPolicy(key.name, problem, result, report(problem, result))


def _check(call: StrategyCall, overrides: Overrides, key: Key) -> None:
    """Raises ManifestError: there is no such strategy, or it has no such objective or option."""
    if call.name not in STRATEGIES:
        path = "--strategy" if overrides.strategy else "spec.strategy.name"
        right = suggestion(call.name, STRATEGIES, "strategies")
        raise _refused(key, path, f"no strategy {call.name}", right, overrides.strategy)
    strategy = select(call.name, call.objective)
    own, path = (None, "--objective") if overrides.objective else (key, "spec.objective")
    if findings := objective_findings(own, path, call.name, call.objective):
        raise ManifestError(findings)
    if findings := option_findings(key, strategy, call.objective, call.options, overrides.options):
        raise ManifestError(findings)


def _with_enough(problem: Problem, objective: str, enough: float) -> Problem:
    """Raises ManifestError: it would change nothing."""
    if objective != HEADROOM.name:
        wrong = f"plans for {objective} have no headroom that is enough"
        raise ManifestError([Finding(None, "--enough", wrong, "give --objective headroom")])
    if problem.robustness is not None:
        wrong = "robust plans have the most headroom at their worst"
        raise ManifestError([Finding(None, "--enough", wrong, "leave it out")])
    return replace(problem, enough=enough)


def _refused(key: Key, path: str, wrong: str, right: str, by_option: object) -> ManifestError:
    return ManifestError([Finding(None if by_option else key, path, wrong, right)])


def plan_policies(sources: Sequence[PolicyProblem], overrides: Overrides) -> list[PlannedPolicy]:
    """Plan every policy, each on what the earlier ones leave. Raises ManifestError as `plan_policy`."""
    usage: dict[str, NodeUsage] = {}
    amounts: dict[str, float] = {}  # by budget
    result: list[PlannedPolicy] = []
    for source in sources:
        if result:
            earlier = result[-1]
            usage = total([usage, usage_of(earlier.problem, earlier.result.plan)])
            fragments = fragments_of(earlier.result.plan)
            for budget in earlier.problem.budgets:
                amounts[budget.name] = amounts.get(budget.name, 0.0) + requested(budget, fragments)
        problem = subtract(source.problem, usage, amounts) if usage else source.problem
        result.append(plan_policy(source, overrides, problem))
    return result


def with_report_in_force(sources: Sequence[PolicyProblem], report: Mapping[str, Any]) -> list[PolicyProblem]:
    """The problems with a PlanReport's plan in force: fewer moves from it break ties between plans."""
    placed = {
        query["name"]: tuple(
            Placed(query["name"], op["id"].split("/", 1)[-1], op["node"]) for op in query["operators"]
        )
        for query in report["queries"]
    }
    result = []
    for source in sources:
        running = tuple(p for query in source.problem.queries for p in placed.get(query.name, ()))
        result.append(replace(source, problem=replace(source.problem, in_force=running)))
    return result
