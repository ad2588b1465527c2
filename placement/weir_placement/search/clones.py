"""Cloning in the search: as long as a node's processor or memory binds, the operators that fill it get one
clone more, and everything is placed anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

from weir_placement.cost.allowed import allowed_nodes
from weir_placement.cost.evaluation import evaluate
from weir_placement.cost.rules import RULES
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem, Query
from weir_placement.options import option
from weir_placement.proof import with_proof

WORTH = 1e-3
"""A clone is a process or more: it must bring this share of headroom."""
TRIED = 3
"""Operators of the fullest node that are tried, the largest first."""

CloneCounts = Mapping[tuple[str, str], int]
"""(query, operator) -> clones."""


@dataclass(frozen=True)
class CloneOptions:
    """How operators are cloned."""

    clones: int = option(1, "maximum number of instances of an operator, split by key; 1: no clones", least=1)
    split_cost: float = option(1.0, "cost of each clone's selection", unit="CPU-us/tuple")
    merge_cost: float = option(0.5, "cost of the union of the clones", unit="CPU-us/tuple")


def with_clones(
    problem: Problem, plan: Callable[[Problem], Result], options: CloneOptions, deadline: float
) -> Result:
    """The best plan that cloning leads to from the one without; `plan` plans a problem.

    The order of operators is that of the first plan. A plan with clones has no bound: the first plan's is
    for its own space only.
    """
    best = plan(problem)
    evaluations = best.evaluations
    base = {placed.query.name: placed.query for placed in best.plan.queries}
    counts: dict[tuple[str, str], int] = {}
    while best.value is not None and best.cost is None and perf_counter() < deadline:
        better = None
        for query, name in _hot(problem, best, base)[:TRIED]:
            more = {**counts, (query, name): counts.get((query, name), 1) + 1}
            if more[query, name] > options.clones:
                continue
            cloned = cloned_problem(problem, base, more, options)
            if cloned is None:
                continue
            result = plan(cloned)
            evaluations += result.evaluations
            if result.value is None or result.value > best.value * (1 + WORTH):
                better = result, more
                break
        if better is None:
            break
        best, counts = with_proof(replace(better[0], bound=None), False), better[1]
    extra = (
        {**best.extra, "clones": {f"{q}/{o}": n for (q, o), n in counts.items()}} if counts else best.extra
    )
    return replace(best, evaluations=evaluations, extra=extra)


def cloned_problem(
    problem: Problem, base: Mapping[str, Query], counts: CloneCounts, options: CloneOptions
) -> Problem | None:
    """The problem with clones in its queries; None if an operator cannot be cloned."""
    from weir_placement.rewrite.cloning import clone  # imports the parser, which few plans need

    queries = []
    for written in problem.queries:
        query = base.get(written.name, written)
        for (name, op), count in counts.items():
            if name != written.name:
                continue
            original = next(o for o in query.operators if o.id == op)
            nodes = allowed_nodes(problem, query, original)
            limited = tuple(replace(o, nodes=nodes) if o.id == op else o for o in query.operators)
            cloned = clone(
                replace(query, operators=limited),
                problem.streams,
                op,
                count,
                options.split_cost,
                options.merge_cost,
            )
            if cloned is None:
                return None
            query = cloned
        queries.append(query)
    return replace(problem, queries=tuple(queries))


def _hot(problem: Problem, result: Result, base: Mapping[str, Query]) -> list[tuple[str, str]]:
    """Operators of the plan without clones that stand behind the fullest node's load, the largest first."""
    evaluation = evaluate(problem, result.plan)
    binding = evaluation.binding
    if binding is None or binding.resource not in ("cpu", "memory"):
        return []
    (node,) = binding.nodes
    x = evaluation.headroom if evaluation.headroom is not None and evaluation.headroom < inf else 1.0
    sizes: dict[tuple[str, str], float] = {}
    for placed in result.plan.queries:
        written_ids = {o.id for o in base[placed.query.name].operators}
        for op in placed.query.operators:
            if placed.nodes[op.id] != node:
                continue
            inputs = [evaluation.operators[placed.query.name, i] for i in op.inputs]
            rule = RULES[op.kind]
            output = evaluation.operators[placed.query.name, op.id].rate
            load = rule.cpu(op, inputs, output) if binding.resource == "cpu" else rule.memory(op, inputs)
            original = op.id if op.id in written_ids else next(iter(op.origin), op.id)
            key = (placed.query.name, original)
            sizes[key] = max(sizes.get(key, 0.0), load(x))
    return sorted(sizes, key=lambda key: (-sizes[key], key))
