"""The plan as JSON: a PlanReport (docs/cli.md), in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

from weir_placement.cost.corners import Corners, limited
from weir_placement.cost.evaluation import Evaluation, evaluate, headroom_of
from weir_placement.cost.node_loads import NodeLoads
from weir_placement.cost.own_headroom import query_headrooms
from weir_placement.cost.rules import RULES
from weir_placement.model.from_plain import build_plain
from weir_placement.model.operator_form import whole
from weir_placement.model.operators import Operator
from weir_placement.model.plan import Plan, QueryPlan, Rejection, Result
from weir_placement.model.problem import Problem, Query
from weir_placement.objectives import EQUAL, HEADROOM

API_VERSION = "weir.dev/v1alpha1"


def finite(value: float | None) -> float | None:
    """JSON has no infinity: null says "no limit"."""
    return value if value is not None and isfinite(value) else None


def report(problem: Problem, result: Result) -> dict[str, Any]:
    """The plan with its figures; rates and loads at the profile (x = 1), with a profile set
    at its binding point. Units: [tuples/s], [CPU-us/s], [bytes], [bytes/s], [s]."""
    evaluation = evaluate(problem, result.plan)
    binding = evaluation.binding
    sharers = _sharers(result.plan)
    own = query_headrooms(problem, result.plan)
    value, bound = finite(result.value), finite(result.bound)
    return {
        "apiVersion": API_VERSION,
        "kind": "PlanReport",
        "strategy": result.strategy,
        "objective": result.objective,
        "seed": result.seed,
        "seconds": result.seconds,
        "evaluations": result.evaluations,
        "objectiveValue": value,
        "objectiveReason": "unbounded" if value is None and result.plan.queries else None,
        "bound": bound,
        "gap": _gap(value, bound),
        "proven": result.proven,
        "provenWithin": result.proven_within.words if result.proven_within else None,
        "binding": binding.name if binding else None,
        "bindingAt": {"resource": binding.resource, "nodes": list(binding.nodes)} if binding else None,
        "bindingShare": finite(binding.share) if binding else None,
        "infeasible": [str(reason) for reason in evaluation.reasons],
        "queries": [_query(problem, p, evaluation, sharers, own[p.query.name]) for p in result.plan.queries]
        + [_rejected(r) for r in result.plan.rejected],
        "flows": [
            {
                "stream": short(stream) if stream not in problem.streams else stream,
                "from": source,
                "to": target,
                "bytesPerSecond": load(1.0),
                "relay": False,
            }
            for (stream, source, target), load in evaluation.links.items()
        ],
        "nodes": list(_nodes(problem, evaluation)),
        "networkUsageBytes": evaluation.network_usage,
        "fragments": evaluation.fragments,
        "moves": evaluation.moves,
        **({"enough": _enough(problem, result, evaluation)} if _asked(problem, result) else {}),
        **({"robust": _robust(problem, result)} if problem.robustness else {}),
        **({"extra": extra} if (extra := _extra(result)) else {}),
    }


def _asked(problem: Problem, result: Result) -> bool:
    """Whether a headroom was enough for the plan."""
    return problem.enough is not None and problem.robustness is None and result.objective == HEADROOM.name


def _enough(problem: Problem, result: Result, evaluation: Evaluation) -> dict[str, Any]:
    """What a report says of a plan of a problem that has an `enough`; `leastHosts` is null where no bound is
    known, as for a plan that does not have so much headroom."""
    assert problem.enough is not None
    return {
        "headroom": problem.enough,
        "reached": evaluation.feasible and evaluation.rank >= problem.enough * (1 - EQUAL),
        "hosts": evaluation.hosts,
        "leastHosts": result.cost.least_hosts or None if result.cost else None,
    }


def _extra(result: Result) -> dict[str, Any]:
    """What only some strategies say."""
    return {**result.extra, **({"space": result.space.words} if result.space else {})}


def _robust(problem: Problem, result: Result) -> dict[str, Any]:
    """What a report says of a plan of a problem that has a `robustness`; headrooms are null where unbounded.

    `price` is the share of the nominal plan's expected headroom that is given up for the worst case.
    """
    corners = Corners(problem)
    worst = corners.worst(result.plan)
    expected = headroom_of(corners.problem, result.plan, frozenset(problem.streams))
    nominal = result.extra.get("nominal")
    before = nominal["headroom"] if nominal else None
    price = 1 - expected / before if before and expected is not None else None
    return {
        "deviations": corners.robustness.deviations,
        "uncertain": corners.uncertain,
        "expectedHeadroom": expected,
        "worstHeadroom": limited(worst.headroom),
        "exact": worst.exact,
        "worstAt": sorted(f"{kind} {name}" for kind, name in worst.corner.largest),
        "nominal": nominal,
        "price": price,
    }


def _gap(value: float | None, bound: float | None) -> float | None:
    """|bound - value| / |value|: how much better any plan could be."""
    if value is None or bound is None:
        return None
    return abs(bound - value) / abs(value) if value else float(bound != value)


def short(name: str) -> str:
    """`namespace/query/operator` without its namespace: an operator's id in the report."""
    return name.split("/", 1)[1] if name.count("/") > 1 else name


def _operator_id(query: Query, op: str) -> str:
    return f"{query.name.rsplit('/', 1)[-1]}/{op}"


Sharers = Mapping[str, Sequence[str]]
"""Key of a shared operator -> its full names, `namespace/query/operator`."""


def _sharers(plan: Plan) -> Sharers:
    sharers: dict[str, list[str]] = {}
    for placed in plan.queries:
        for op, key in placed.shared.items():
            sharers.setdefault(key, []).append(f"{placed.query.name}/{op}")
    return sharers


def _query(
    problem: Problem, placed: QueryPlan, evaluation: Evaluation, sharers: Sharers, headroom: float | None
) -> dict[str, Any]:
    query = placed.query
    return {
        "name": query.name,
        "admitted": True,
        "reason": None,
        "headroom": headroom,
        "latencySeconds": finite(evaluation.latency[query.name]),
        "origins": dict(placed.origins),
        "sink": placed.sink or None,
        "operators": [_operator(problem, placed, op, evaluation, sharers) for op in query.operators],
    }


def _rejected(rejection: Rejection) -> dict[str, Any]:
    return {
        "name": rejection.query,
        "admitted": False,
        "reason": rejection.reason,
        "late": rejection.late,
        "short": [asdict(each) | {"nodes": list(each.nodes)} for each in rejection.short],
        "headroom": None,
        "latencySeconds": None,
        "operators": [],
    }


def _operator(
    problem: Problem, placed: QueryPlan, op: Operator, evaluation: Evaluation, sharers: Sharers
) -> dict[str, Any]:
    query = placed.query
    inputs = [evaluation.operators[query.name, name] for name in op.inputs]
    output = evaluation.operators[query.name, op.id]
    rule = RULES[op.kind]
    own = f"{query.name}/{op.id}"
    written = next((q for q in problem.queries if q.name == query.name), query)
    original = next((o for o in written.operators if o.id == op.id), None)
    rewritten = original is None or replace(original, inputs=op.inputs, origin=op.origin) != op
    return {
        "id": _operator_id(query, op.id),
        "kind": op.kind,
        "inputs": [query.sources.get(name) or _operator_id(query, name) for name in op.inputs],
        "aliases": [name if name in query.sources else None for name in op.inputs],
        "node": placed.nodes[op.id],
        "sharedWith": [n for n in sharers.get(placed.shared.get(op.id, ""), ()) if n != own],
        "inputRate": [flow.rate(1.0) for flow in inputs],
        "outputRate": output.rate(1.0),
        "cpu": rule.cpu(op, inputs, output.rate)(1.0),
        "memoryBytes": rule.memory(op, inputs)(1.0),
        **({"from": list(op.origin)} if op.origin else {}),
        **({"rewritten": whole(op)} if rewritten else {}),
    }


def _nodes(problem: Problem, evaluation: Evaluation) -> Iterable[dict[str, Any]]:
    for node in problem.cluster.nodes:
        loads = evaluation.loads.get(node.name) or NodeLoads()
        yield {
            "name": node.name,
            "cpu": loads.cpu(1.0),
            "cpuCapacity": node.cpu_capacity,
            "memoryBytes": loads.memory(1.0),
            "memoryCapacity": finite(node.memory),
            "egressBytesPerSecond": loads.egress(1.0),
            "egressCapacity": finite(node.egress),
            "ingressBytesPerSecond": loads.ingress(1.0),
            "ingressCapacity": finite(node.ingress),
        }


def read_plan(problem: Problem, document: Mapping[str, Any]) -> Plan:
    """The plan of a PlanReport, for `weir evaluate --plan`.

    Raises:
        ValueError: it names a query, stream, operator or node that the problem does not have.
    """
    queries = {query.name: query for query in problem.queries}
    placed = []
    for entry in document.get("queries", ()):
        if not entry.get("admitted"):
            continue
        if entry["name"] not in queries:
            raise ValueError(f"the plan places query {entry['name']}, which the manifests do not have")
        placed.append(_read_query(problem, queries[entry["name"]], entry))
    return Plan(tuple(placed))


def _read_query(problem: Problem, query: Query, entry: Mapping[str, Any]) -> QueryPlan:
    written = {op.id: op for op in query.operators}
    operators, nodes, shared = [], {}, {}
    for item in entry["operators"]:
        name = item["id"].split("/", 1)[1]
        inputs = tuple(
            alias or key.split("/", 1)[1] for alias, key in zip(item["aliases"], item["inputs"], strict=True)
        )
        if "rewritten" in item:
            op = build_plain(Operator, item["rewritten"], f"operators.{name}.rewritten")
        elif name in written:
            op = replace(written[name], inputs=inputs, origin=tuple(item.get("from", ())))
        else:
            raise ValueError(
                f"query {query.name} has no operator {name}, and the plan does not say what it is"
            )
        operators.append(op)
        nodes[name] = item["node"]
        if item.get("sharedWith"):
            shared[name] = min([f"{query.name}/{name}", *item["sharedWith"]])
    sink = entry.get("sink") or ""
    for node in (*nodes.values(), *entry["origins"].values(), *([sink] if sink else [])):
        if node not in problem.cluster.index:
            raise ValueError(f"the plan uses node {node}, which the manifests do not have")
    return QueryPlan(replace(query, operators=tuple(operators)), nodes, dict(entry["origins"]), sink, shared)
