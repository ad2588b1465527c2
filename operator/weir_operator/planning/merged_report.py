"""One PlanReport of the plans of several policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weir_placement.objectives import OBJECTIVES

from weir_operator.planning.policies import PlannedPolicy

_LOADS = ("cpu", "memoryBytes", "egressBytesPerSecond", "ingressBytesPerSecond")


def merged(planned: Sequence[PlannedPolicy]) -> dict[str, Any]:
    """The worst policy's figures, the queries and flows of all, their loads added.

    The worst is among those that have the first one's objective: values of two objectives do not compare.
    With several policies `policies` has each one's own figures.
    """
    if len(planned) == 1:
        return planned[0].report
    reports = [one.report for one in planned]
    heads = [
        {"policy": one.policy} | {k: v for k, v in one.report.items() if not isinstance(v, list | dict)}
        for one in planned
    ]
    objective = OBJECTIVES[reports[0]["objective"]]
    comparable = [r for r in reports if r["objective"] == objective.name]
    worst = min(comparable, key=lambda r: objective.merit(r["objectiveValue"]))
    return {
        **worst,
        "seconds": sum(r["seconds"] for r in reports),
        "evaluations": sum(r["evaluations"] for r in reports),
        "proven": all(r["proven"] for r in reports),
        "provenWithin": _proven_within(reports),
        "queries": [query for r in reports for query in r["queries"]],
        "flows": [flow for r in reports for flow in r["flows"]],
        "nodes": _added([r["nodes"] for r in reports]),
        "networkUsageBytes": sum(r["networkUsageBytes"] for r in reports),
        "policies": heads,
    }


def _proven_within(reports: Sequence[Mapping[str, Any]]) -> str | None:
    """The spaces of all, where each is proven but some only within one."""
    if not all(r["proven"] or r.get("provenWithin") for r in reports):
        return None
    return "; ".join(dict.fromkeys(r["provenWithin"] for r in reports if not r["proven"])) or None


def _added(tables: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Loads summed by node; capacities are the first policy's, which has everything."""
    totals = {node["name"]: dict(node) for node in tables[0]}
    for table in tables[1:]:
        for node in table:
            for name in _LOADS:
                totals[node["name"]][name] += node[name]
    return list(totals.values())
