"""Plans every policy of a set of objects: policies in the order of their priority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from weir_placement.cost.budget import fragments_of, requested
from weir_placement.model.cluster import REFERENCE_CORE
from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Placed, Problem
from weir_placement.report import report
from weir_placement.strategies import STRATEGIES, select

from weir_operator.manifests.cluster import Used
from weir_operator.manifests.finding import Finding, Key, ManifestError, suggestion
from weir_operator.manifests.problem import PolicyProblem, less


@dataclass(frozen=True)
class Choice:
    """What the command line says instead of the policy; None keeps the policy's."""

    strategy: str | None = None
    objective: str | None = None
    options: Mapping[str, str] | None = None
    seed: int | None = None
    time_limit: float | None = None


@dataclass(frozen=True)
class Planned:
    """One policy with its plan; `problem` has what earlier policies use taken off."""

    group: PolicyProblem
    problem: Problem
    result: Result
    report: dict[str, Any]


def plan_round(group: PolicyProblem, choice: Choice, problem: Problem | None = None) -> Planned:
    """Plan the queries of one policy.

    Raises:
        ManifestError: the policy or the choice names a strategy, objective or option that is not there.
    """
    spec, problem = group.policy.spec, problem or group.problem
    key = Key("PlacementPolicy", "", group.policy.metadata.name)
    name = choice.strategy or spec.strategy.name
    objective = cast(Objective, choice.objective or spec.objective)  # any other is refused below
    if name not in STRATEGIES:
        path = "--strategy" if choice.strategy else "spec.strategy.name"
        raise _refused(
            key, path, f"no strategy {name}", suggestion(name, STRATEGIES, "strategies"), choice.strategy
        )
    strategy = select(name, objective)
    if objective not in strategy.objectives:
        able = sorted(n for n, s in STRATEGIES.items() if objective in s.objectives)
        right = f"strategies for it: {', '.join(able)}" if able else "no strategy has it"
        path = "--objective" if choice.objective else "spec.objective"
        raise _refused(key, path, f"strategy {name} has no objective {objective}", right, choice.objective)
    options = {**({} if choice.strategy else spec.strategy.parameters), **(choice.options or {})}
    for option in options:
        if option not in strategy.options:
            right = suggestion(option, strategy.options, f"options of {name}")
            given = bool(choice.options and option in choice.options)
            path = "--set" if given else f"spec.strategy.parameters.{option}"
            raise _refused(key, path, f"no option {option}", right, given)
    try:
        result = strategy.load()(
            problem,
            objective=objective,
            seed=spec.strategy.seed if choice.seed is None else choice.seed,
            time_limit=spec.strategy.time_limit if choice.time_limit is None else choice.time_limit,
            options=options,
        )
    except ValueError as error:  # how a strategy refuses an option's value or a node without its tier's label
        raise _refused(key, "spec.strategy", f"{name}: {error}", "", None) from error
    return Planned(group, problem, result, report(problem, result))


def _refused(key: Key, path: str, wrong: str, right: str, by_option: object) -> ManifestError:
    return ManifestError([Finding(None if by_option else key, path, wrong, right)])


def plan_all(groups: Sequence[PolicyProblem], choice: Choice) -> list[Planned]:
    """Plan every policy, each on what the earlier ones leave."""
    used: dict[str, Used] = {}
    taken: dict[str, float] = {}
    planned = []
    for group in groups:
        one = plan_round(group, choice, less(group.problem, used, taken) if used else group.problem)
        planned.append(one)
        for name, load in loads(one).items():
            used[name] = used.get(name, Used()) + load
        fragments = fragments_of(one.result.plan)
        for budget in group.problem.budgets:
            taken[budget.name] = taken.get(budget.name, 0.0) + requested(budget, fragments)
    return planned


def loads(planned: Planned) -> dict[str, Used]:
    """What a plan uses of each node at its profile."""
    speed = {node.name: node.speed for node in planned.problem.cluster.nodes}
    return {
        node["name"]: Used(
            node["cpu"] / (REFERENCE_CORE * speed[node["name"]]),
            node["memoryBytes"],
            node["egressBytesPerSecond"],
            node["ingressBytesPerSecond"],
        )
        for node in planned.report["nodes"]
    }


def merged(planned: Sequence[Planned]) -> dict[str, Any]:
    """One PlanReport of all policies: the first one's head, everybody's queries and flows, loads added.

    With several policies `policies` has each one's own head.
    """
    if len(planned) == 1:
        return planned[0].report
    reports = [one.report for one in planned]
    heads = [
        {"policy": one.group.policy.metadata.name}
        | {k: v for k, v in one.report.items() if not isinstance(v, list | dict)}
        for one in planned
    ]
    worst = min(
        reports, key=lambda r: r["objectiveValue"] if r["objectiveValue"] is not None else float("inf")
    )
    return {
        **worst,
        "seconds": sum(r["seconds"] for r in reports),
        "evaluations": sum(r["evaluations"] for r in reports),
        "proven": all(r["proven"] for r in reports),
        "queries": [query for r in reports for query in r["queries"]],
        "flows": [flow for r in reports for flow in r["flows"]],
        "nodes": _added([r["nodes"] for r in reports]),
        "networkUsageBytes": sum(r["networkUsageBytes"] for r in reports),
        "policies": heads,
    }


_LOADS = ("cpu", "memoryBytes", "egressBytesPerSecond", "ingressBytesPerSecond")


def _added(tables: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Loads summed by node; capacities are the first policy's, which has everything."""
    totals = {node["name"]: dict(node) for node in tables[0]}
    for table in tables[1:]:
        for node in table:
            for name in _LOADS:
                totals[node["name"]][name] += node[name]
    return list(totals.values())


def in_force(groups: Sequence[PolicyProblem], report: Mapping[str, Any]) -> list[PolicyProblem]:
    """The problems with a plan that runs already: fewer moves from it break ties between plans."""
    placed = {
        query["name"]: tuple(
            Placed(query["name"], op["id"].split("/", 1)[-1], op["node"]) for op in query["operators"]
        )
        for query in report["queries"]
    }
    result = []
    for group in groups:
        running = tuple(p for query in group.problem.queries for p in placed.get(query.name, ()))
        result.append(replace(group, problem=replace(group.problem, in_force=running)))
    return result
