"""What a namespace lets its queries have: ResourceQuotas and a policy's limits become budgets of the planner,
LimitRanges are held against each query's pods.

What a fragment asks for does not depend on its node, so a quota bounds how many fragments the namespace has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from weir_placement.model.problem import Budget, Problem, Unit

from weir_operator.api.policy import PlacementPolicy
from weir_operator.api.query import StreamQuery
from weir_operator.api.tenancy import ResourceQuota, ScopeRequirement
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.limits import limit_findings, with_defaults
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.requests import Amounts, PodAmounts, pod_amounts

T = TypeVar("T")
Held = Mapping[str, Amounts]
"""By query: what a ResourceQuota counts of its pods that are there."""


def tenancy_findings(
    item: StreamQuery, objects: Objects, policy: PlacementPolicy | None
) -> Iterator[Finding]:
    """What keeps every pod of a query out of its namespace, whatever the plan."""
    key = Key("StreamQuery", item.metadata.namespace, item.metadata.name)
    ranges = _of_namespace(objects.limit_ranges, item)
    yield from limit_findings(key, _pod(item), ranges)
    for quota in _of_namespace(objects.quotas, item):
        if policy is None or not _about(quota, policy):
            continue
        for resource in ("cpu", "memory"):
            limited = resource in with_defaults(_pod(item), ranges).limits
            if f"limits.{resource}" in quota.spec.hard and not limited:
                wrong = f"{_name(quota)} asks for a limit of {resource}, and pods of fragments have none"
                right = "give the namespace a LimitRange with a default limit"
                yield Finding(key, "metadata.namespace", wrong, right, "NotAllowed")


def with_budgets(
    problem: Problem, policy: PlacementPolicy, objects: Objects, planned: frozenset[str], held: Held
) -> Problem:
    """The problem of a policy's queries with the budgets that they are in.

    Args:
        planned: queries of all policies; what their pods hold of a quota is theirs to have.
    """
    asked = {q.name: _counted(objects.queries[q.name], objects) for q in problem.queries}
    found = [
        *_of_quotas(policy, objects, asked, {n: h for n, h in held.items() if n in planned}),
        *_of_policy(policy, asked),
    ]
    return replace(problem, budgets=tuple(budget for budget in found if budget.each))


def _of_quotas(
    policy: PlacementPolicy, objects: Objects, asked: Mapping[str, Amounts], held: Held
) -> Iterator[Budget]:
    for quota in objects.quotas.values():
        if not _about(quota, policy):
            continue
        inside = f"{quota.metadata.namespace}/"
        for resource, hard in quota.spec.hard.items():
            each = {
                name: amounts[resource]
                for name, amounts in asked.items()
                if name.startswith(inside) and amounts.get(resource)
            }
            own = sum(h.get(resource, 0.0) for name, h in held.items() if name.startswith(inside))
            left = hard - quota.status.used.get(resource, 0.0) + own
            yield Budget(f"{resource} of {_name(quota)}", min(left, hard), hard, each, _unit(resource))


def _of_policy(policy: PlacementPolicy, asked: Mapping[str, Amounts]) -> Iterator[Budget]:
    for limit in policy.spec.limits:
        for resource, most in (("cpu", limit.cpu), ("memory", limit.memory)):
            if most is not None:
                inside = f"{limit.namespace}/"
                each = {name: a[resource] for name, a in asked.items() if name.startswith(inside)}
                name = f"{resource} that PlacementPolicy {policy.metadata.name} allows {limit.namespace}"
                yield Budget(name, most, most, each, _unit(resource))


def _unit(resource: str) -> Unit:
    kind = resource.rsplit(".", 1)[-1]
    return "cores" if kind == "cpu" else "bytes" if kind in ("memory", "ephemeral-storage") else ""


def _counted(item: StreamQuery, objects: Objects) -> Amounts:
    """What one fragment of a query asks for, by the names of a quota's resources."""
    pod = with_defaults(_pod(item), _of_namespace(objects.limit_ranges, item))
    pods = 1 + item.spec.resources.executors
    return {resource: pods * amount for resource, amount in pod.counted().items()}


def _pod(item: StreamQuery) -> PodAmounts:
    resources = item.spec.resources
    return pod_amounts(resources.cpu, resources.memory, resources.executors)


def _of_namespace(found: Mapping[str, T], item: StreamQuery) -> list[T]:
    return [o for name, o in found.items() if name.startswith(f"{item.metadata.namespace}/")]


def _name(quota: ResourceQuota) -> str:
    return f"ResourceQuota {quota.metadata.namespace}/{quota.metadata.name}"


def _about(quota: ResourceQuota, policy: PlacementPolicy) -> bool:
    """Whether a quota counts the pods of a policy's fragments: all of its scopes must be about them."""
    selector = quota.spec.scope_selector
    terms = [ScopeRequirement(scope_name=scope, operator="Exists") for scope in quota.spec.scopes]
    terms += selector.match_expressions if selector else []
    return all(_holds(term, policy.spec.pod_template.priority_class_name or "") for term in terms)


def _holds(term: ScopeRequirement, priority_class: str) -> bool:
    """The pods have requests, no deadline, no affinity to pods; a scope not known here is about them."""
    if term.scope_name == "PriorityClass":
        return {
            "In": priority_class in term.values,
            "NotIn": priority_class not in term.values,
            "Exists": bool(priority_class),
            "DoesNotExist": not priority_class,
        }.get(term.operator, True)
    never = ("Terminating", "BestEffort", "CrossNamespacePodAffinity", "VolumeAttributesClass")
    return term.scope_name not in never
