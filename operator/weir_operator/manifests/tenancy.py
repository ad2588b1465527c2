"""What a namespace allows its queries: ResourceQuotas and a policy's limits become budgets of the planner,
LimitRanges are checked against each query's pods.

What a fragment requests does not depend on its node, so a quota bounds how many fragments the namespace has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from weir_placement.cost.heap import largest_heap_mb, state_heap_mb
from weir_placement.fragments import Knobs
from weir_placement.model.problem import Budget, Problem, Unit

from weir_operator.api.policy import PlacementPolicy
from weir_operator.api.query import StreamQuery
from weir_operator.api.tenancy import LimitRange, ResourceQuota, ScopeRequirement
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.limits import limit_findings, with_defaults
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.requests import Amounts, PodAmounts, pod_amounts

LEAST_HEAP = Knobs().heap_mb
Limiting = TypeVar("Limiting", ResourceQuota, LimitRange)
QuotaUsage = Mapping[str, Amounts]
"""By query: what a ResourceQuota counts of its present pods."""


class Tenancy:
    """The quotas and limit ranges of all namespaces."""

    def __init__(self, objects: Objects) -> None:
        self.queries = objects.queries
        self._quotas = _by_namespace(objects.quotas)
        self._ranges = _by_namespace(objects.limit_ranges)

    def findings(self, item: StreamQuery, policy: PlacementPolicy | None) -> Iterator[Finding]:
        """Findings about what refuses every pod of a query in its namespace, whatever the plan."""
        namespace = item.metadata.namespace
        key, ranges = Key("StreamQuery", namespace, item.metadata.name), self._ranges[namespace]
        yield from limit_findings(key, _pod(item), ranges)
        for quota in self._quotas[namespace]:
            if policy is None or not _about(quota, policy):
                continue
            for resource in ("cpu", "memory"):
                limited = resource in with_defaults(_pod(item), ranges).limits
                if f"limits.{resource}" in quota.spec.hard and not limited:
                    wrong = f"{_name(quota)} requires a limit for {resource}, and pods of fragments have none"
                    right = "give the namespace a LimitRange with a default limit"
                    yield Finding(key, "metadata.namespace", wrong, right, "NotAllowed")

    def heap_findings(self, problem: Problem) -> Iterator[Finding]:
        """What keeps out the pod with a query's largest operator, which every plan has."""
        for query in problem.queries:
            item, namespace = self.queries[query.name], _namespace(query.name)
            heap = largest_heap_mb(problem, query, LEAST_HEAP, item.spec.resources.executors)
            if heap > LEAST_HEAP:
                key = Key("StreamQuery", namespace, item.metadata.name)
                yield from limit_findings(key, _pod(item, heap), self._ranges[namespace])

    def with_budgets(
        self, problem: Problem, policy: PlacementPolicy, planned: frozenset[str], quota_usage: QuotaUsage
    ) -> Problem:
        """The problem of a policy's queries with the budgets that they are in.

        Args:
            planned: queries of all policies; what their pods use of a quota counts as free.
        """
        requested: dict[str, dict[str, Amounts]] = defaultdict(dict)  # namespace -> query -> of one fragment
        state: dict[str, Amounts] = {}  # query -> beside that, for its state
        own: dict[str, list[Amounts]] = defaultdict(list)
        for query in problem.queries:
            item = self.queries[query.name]
            least = requested[_namespace(query.name)][query.name] = self._counted(item)
            heap = state_heap_mb(problem, query, LEAST_HEAP, item.spec.resources.executors)
            most = self._counted(item, heap)
            state[query.name] = {
                resource: more for resource, amount in most.items() if (more := amount - least[resource]) > 0
            }
        for name, amounts in quota_usage.items():
            if name in planned:
                own[_namespace(name)].append(amounts)
        budgets = [b for ns, mine in requested.items() for b in self._of_quotas(policy, ns, mine, own[ns])]
        budgets += _of_policy(policy, requested)
        return replace(
            problem, budgets=tuple(_with_state(budget, state) for budget in budgets if budget.each)
        )

    def _of_quotas(
        self, policy: PlacementPolicy, namespace: str, requested: Mapping[str, Amounts], own: list[Amounts]
    ) -> Iterator[Budget]:
        for quota in self._quotas[namespace]:
            for resource, hard in quota.spec.hard.items() if _about(quota, policy) else ():
                each = {
                    name: amounts[resource] for name, amounts in requested.items() if amounts.get(resource)
                }
                own_usage = sum(amounts.get(resource, 0.0) for amounts in own)
                free = hard - quota.status.used.get(resource, 0.0) + own_usage
                name = f"{resource} of {_name(quota)}"
                yield Budget(name, min(free, hard), hard, each, _unit(resource), resource=resource)

    def _counted(self, item: StreamQuery, heap_mb: int = LEAST_HEAP) -> Amounts:
        """What one fragment of a query requests, by a quota's resource names."""
        pod = with_defaults(_pod(item, heap_mb), self._ranges[item.metadata.namespace])
        pods = 1 + item.spec.resources.executors
        return {resource: pods * amount for resource, amount in pod.counted().items()}


def _of_policy(policy: PlacementPolicy, requested: Mapping[str, Mapping[str, Amounts]]) -> Iterator[Budget]:
    for limit in policy.spec.limits:
        for resource, most in (("cpu", limit.cpu), ("memory", limit.memory)):
            if most is not None:
                each = {query: a[resource] for query, a in requested.get(limit.namespace, {}).items()}
                name = f"{resource} that PlacementPolicy {policy.metadata.name} allows {limit.namespace}"
                yield Budget(name, most, most, each, _unit(resource), resource=resource)


def _unit(resource: str) -> Unit:
    kind = resource.rsplit(".", 1)[-1]
    return "cores" if kind == "cpu" else "bytes" if kind in ("memory", "ephemeral-storage") else ""


def _with_state(budget: Budget, state: Mapping[str, Amounts]) -> Budget:
    return replace(budget, state={q: a for q in budget.each if (a := state[q].get(budget.resource, 0.0))})


def _pod(item: StreamQuery, heap_mb: int = LEAST_HEAP) -> PodAmounts:
    resources = item.spec.resources
    return pod_amounts(resources.cpu, resources.memory, resources.executors, heap_mb)


def _by_namespace(objects: Mapping[str, Limiting]) -> dict[str, list[Limiting]]:
    result: dict[str, list[Limiting]] = defaultdict(list)
    for item in objects.values():
        result[item.metadata.namespace].append(item)
    return result


def _namespace(name: str) -> str:
    return name.split("/", 1)[0]


def _name(quota: ResourceQuota) -> str:
    return f"ResourceQuota {quota.metadata.namespace}/{quota.metadata.name}"


def _about(quota: ResourceQuota, policy: PlacementPolicy) -> bool:
    """Whether a quota counts the pods of a policy's fragments: all of its scopes must include them."""
    selector = quota.spec.scope_selector
    terms = [ScopeRequirement(scope_name=scope, operator="Exists") for scope in quota.spec.scopes]
    terms += selector.match_expressions if selector else []
    return all(_holds(term, policy.spec.pod_template.priority_class_name or "") for term in terms)


def _holds(term: ScopeRequirement, priority_class: str) -> bool:
    """Whether a scope includes the pods: they have requests, no deadline and no affinity to pods. A scope
    that is unknown here is taken to include them."""
    if term.scope_name == "PriorityClass":
        return {
            "In": priority_class in term.values,
            "NotIn": priority_class not in term.values,
            "Exists": bool(priority_class),
            "DoesNotExist": not priority_class,
        }.get(term.operator, True)
    never = ("Terminating", "BestEffort", "CrossNamespacePodAffinity", "VolumeAttributesClass")
    return term.scope_name not in never
