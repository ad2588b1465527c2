"""ResourceQuotas, LimitRanges and a policy's limits, read as the API server reads them."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.manifests.problem import Built
from weir_operator.planning.policies import Overrides, plan_policies
from weir_placement.model.problem import Budget

from tests.manifests.scene import FILTER, NODES, STREAMS, built, graph, messages, obj

MEBIBYTE = 2.0**20
LEAST = 1212 * MEBIBYTE


def quota(hard: dict[str, str], name: str = "small", used: dict[str, str] | None = None, **spec: Any) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used or {}},
    }


def limits(*items: dict[str, Any], name: str = "range") -> Any:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"limits": list(items)},
    }


def container(**bounds: Any) -> dict[str, Any]:
    return {"type": "Container", **bounds}


def budgets(*raw: Any, **options: Any) -> dict[str, Budget]:
    group: Built = built(*NODES, *STREAMS, *raw, **options)
    assert group.findings == (), [str(f) for f in group.findings]
    return {budget.name.split(" ")[0]: budget for budget in group.groups[0].problem.budgets}


HARD = {"requests.cpu": "2", "cpu": "3", "requests.memory": "8Gi", "limits.memory": "9Gi", "pods": "5",
        "count/pods": "6", "configmaps": "1", "requests.storage": "1Gi"}  # fmt: skip


def test_a_quota_is_a_budget_for_each_resource_that_pods_ask_for() -> None:
    used = {"requests.cpu": "500m", "pods": "1"}
    two = graph("two", FILTER, resources={"cpu": "500m", "memory": "4Gi", "executors": 1})
    actual = budgets(quota(HARD, used=used), graph("one", FILTER), two)
    assert set(actual) == set(HARD) - {"configmaps", "requests.storage"}
    cpu = actual["requests.cpu"]
    assert (cpu.left, cpu.hard, cpu.unit) == (1.5, 2.0, "cores")
    assert cpu.each == {"default/one": 0.1, "default/two": 0.5}
    assert actual["limits.memory"].each == {"default/one": LEAST, "default/two": 2**32}
    assert actual["pods"].each == {"default/one": 1.0, "default/two": 2.0}
    assert actual["pods"].left == 4.0


def test_what_own_pods_hold_is_given_back_to_queries_that_are_planned() -> None:
    usage = {"default/one": {"pods": 2.0}, "default/gone": {"pods": 1.0}, "other/x": {"pods": 9.0}}
    actual = budgets(quota({"pods": "5"}, used={"pods": "5"}), graph("one", FILTER), quota_usage=usage)
    assert actual["pods"].left == 2.0


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"scopes": ["NotTerminating", "NotBestEffort"]}, True),
        ({"scopes": ["BestEffort"]}, False),
        ({"scopes": ["NotBestEffort", "Terminating"]}, False),
        ({"scopes": ["CrossNamespacePodAffinity"]}, False),
        ({"scopes": ["PriorityClass"]}, True),
        ({"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["batch"]}]}}, True),
        ({"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "NotIn", "values": ["batch"]}]}}, False),
        ({"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "DoesNotExist"}]}}, False),
    ],
)  # fmt: skip
def test_only_quotas_whose_scopes_are_about_the_pods_count(spec: dict[str, Any], counts: bool) -> None:
    policy = obj("PlacementPolicy", "default", {"podTemplate": {"priorityClassName": "batch"}}, "")
    assert bool(budgets(quota({"pods": "5"}, **spec), policy, graph("one", FILTER))) == counts


def test_a_policy_s_limits_are_budgets_of_its_queries() -> None:
    limit = [{"namespace": "default", "cpu": "1", "memory": "2Gi"}, {"namespace": "other", "cpu": "1"}]
    policy = obj("PlacementPolicy", "default", {"limits": limit}, "")
    actual = built(*NODES, *STREAMS, policy, graph("one", FILTER)).groups[0].problem.budgets
    assert [(b.name, b.left, dict(b.each)) for b in actual] == [
        ("cpu that PlacementPolicy default allows default", 1.0, {"default/one": 0.1}),
        ("memory that PlacementPolicy default allows default", 2.0**31, {"default/one": LEAST}),
    ]


def test_defaults_of_a_limit_range_are_counted() -> None:
    item = container(default={"cpu": "400m", "ephemeral-storage": "1Gi"}, max={"cpu": "500m"})
    actual = budgets(limits(item), quota({"limits.cpu": "1", "ephemeral-storage": "3Gi"}), graph("q", FILTER))
    assert actual["limits.cpu"].each == {"default/q": 0.4}
    assert actual["ephemeral-storage"].each == {"default/q": 2.0**30}


def test_a_quota_on_limits_that_pods_do_not_have_keeps_every_one_out() -> None:
    (actual,) = messages(*NODES, *STREAMS, quota({"limits.cpu": "9"}), graph("q", FILTER))
    assert actual == (
        "StreamQuery default/q: metadata.namespace: ResourceQuota default/small requires a limit for cpu, "
        "and pods of fragments have none; give the namespace a LimitRange with a default limit"
    )


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (container(min={"cpu": "50m"}, max={"cpu": "2", "memory": "4Gi"}), ""),
        (container(min={"cpu": "200m"}), "each pod requests 100m of cpu, below the minimum of 200m"),
        (container(max={"memory": "1Gi"}), "each pod requests 1212Mi of memory, above the maximum of 1Gi"),
        (container(default={"cpu": "50m"}), "requests 100m of cpu, above the default limit of 50m"),
        ({"type": "Pod", "max": {"cpu": "1"}}, "has no limit for cpu, but the maximum is 1 for a Pod"),
        ({"type": "Pod", "min": {"memory": "2Gi"}}, "1212Mi of memory, below the minimum of 2Gi for a Pod"),
        (container(default={"cpu": "1"}, maxLimitRequestRatio={"cpu": "5"}), "is 10 times its request"),
        (container(maxLimitRequestRatio={"memory": "1"}), ""),
        ({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, ""),
    ],
)  # fmt: skip
def test_what_a_limit_range_forbids_is_told(item: dict[str, Any], message: str) -> None:
    actual = messages(*NODES, *STREAMS, limits(item), graph("q", FILTER))
    assert len(actual) == bool(message), actual
    assert all(message in text and "LimitRange default/range" in text for text in actual)


def test_a_later_policy_gets_what_an_earlier_one_leaves_of_a_quota() -> None:
    high = obj("PlacementPolicy", "high", {"priority": 1}, "")
    queries = [graph("a", FILTER), graph("b", FILTER, policy="high"), graph("c", FILTER, policy="high")]
    group = built(*NODES, *STREAMS, high, *queries, quota({"pods": "2"}))
    first, second = plan_policies(group.groups, Overrides())
    assert {q.query.name for q in first.result.plan.queries} == {"default/b", "default/c"}
    (refused,) = second.result.plan.rejected
    assert refused.query == "default/a"
    assert refused.reason.startswith("pods of ResourceQuota default/small: 1 needed")
    assert refused.reason.endswith("0 left of 2")
