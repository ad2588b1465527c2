"""What plans use of each node, and what they leave for others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from weir_placement.cost.evaluation import evaluate
from weir_placement.model.cluster import REFERENCE_CORE, Cluster
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem

from weir_operator.manifests.cluster import NodeUsage


def usage_of(problem: Problem, plan: Plan) -> dict[str, NodeUsage]:
    """By node, what a plan uses at the binding point of the problem's profile."""
    speed = {node.name: node.speed for node in problem.cluster.nodes}
    return {
        name: NodeUsage(
            loads.cpu(1.0) / (REFERENCE_CORE * speed[name]),
            loads.memory(1.0),
            loads.egress(1.0),
            loads.ingress(1.0),
        )
        for name, loads in evaluate(problem, plan).loads.items()
    }


def total(usages: Iterable[Mapping[str, NodeUsage]]) -> dict[str, NodeUsage]:
    """The sum by node."""
    result: dict[str, NodeUsage] = defaultdict(NodeUsage)
    for usage in usages:
        for name, amounts in usage.items():
            result[name] += amounts
    return dict(result)


def subtract(
    problem: Problem, usage: Mapping[str, NodeUsage], requested: Mapping[str, float] | None = None
) -> Problem:
    """The problem with `usage` taken off its nodes, and `requested` (by budget) off its budgets."""
    nodes = tuple(
        replace(
            node,
            cpu=max(0.0, node.cpu - usage[node.name].cpu),
            memory=max(0.0, node.memory - usage[node.name].memory),
            egress=max(0.0, node.egress - usage[node.name].egress),
            ingress=max(0.0, node.ingress - usage[node.name].ingress),
        )
        if node.name in usage
        else node
        for node in problem.cluster.nodes
    )
    budgets = tuple(replace(b, left=b.left - (requested or {}).get(b.name, 0.0)) for b in problem.budgets)
    return replace(problem, cluster=Cluster(nodes, problem.cluster.network), budgets=budgets)
