"""Move the fragments of a running plan: as few as restore what is asked for.

A fragment that runs keeps its operators, because its state belongs to them; only its node changes. So
the search is over assignments of fragments to nodes near the present one: single moves first, then pairs,
then one after the other, as D-CAPE ([1]_) redistributes (Algorithm 5: a valid distribution within k tries).

References
----------
.. [1] Timothy Sutherland, Elke A. Rundensteiner, "D-CAPE: A Self-Tuning Continuous Query Plan Distribution
       Architecture", WPI-CS-TR-04-18, 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

from weir_placement.cost.allowed import allowed_nodes
from weir_placement.cost.evaluation import Evaluation, evaluate
from weir_placement.fragments import groups_of
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem
from weir_placement.objectives import Objective

OperatorKey = tuple[str, str]
"""(query, last operator) of a fragment."""
Boundaries = Mapping[str, frozenset[str]]
"""Query -> last operators of its fragments."""

MAX_CANDIDATES = 16
"""Nodes tried for one fragment: the emptiest of those that it may use."""
MAX_PAIRS = 20_000
"""Plans tried with two fragments moved at once; with more than these it goes one after the other."""


@dataclass(frozen=True)
class Replacement:
    """A plan with the same fragments on other nodes; `moved` names fragments and where they go."""

    plan: Plan
    evaluation: Evaluation
    moved: Mapping[OperatorKey, str]


def replace_fragments(
    problem: Problem, plan: Plan, boundaries: Boundaries, target: float, min_gain: float, max_moves: int
) -> Replacement | None:
    """The fewest moves that bring the headroom to `target`, the cheapest of them; else the best found.

    Args:
        problem: with measured statistics; `in_force` names what runs where.
        target: headroom to reach; a plan beyond it is not better for that.
        min_gain: when the target is out of reach, a plan counts only if it raises the headroom by this share.
        max_moves: fragments that may move.

    Returns None when nothing is worth a move. Among plans with equally many moves the one with the least
    network usage is taken, then the one with more headroom.

    Complexity: O((F C)^2) evaluations for F fragments with C candidate nodes, at most MAX_PAIRS of them for
    two moves, then O(F C) a move.
    """
    now = evaluate(problem, plan)

    def rank(then: Evaluation) -> tuple[float, ...]:
        return (*_standing(then, target), -then.network_usage, then.rank)

    best = _fewest(problem, plan, boundaries, rank, lambda e: e.rank >= target, max_moves)
    if best is None or _standing(best.evaluation, target) <= _standing(now, target):
        return None
    if best.evaluation.rank >= target or len(best.evaluation.reasons) < len(now.reasons):
        return best
    return best if best.evaluation.rank >= now.rank * (1 + min_gain) else None


def better_placement(
    problem: Problem,
    plan: Plan,
    boundaries: Boundaries,
    objective: Objective,
    min_gain: float,
    floor: float,
    max_moves: int,
) -> Replacement | None:
    """The fewest moves that make a plan which works better by at least the share `min_gain` > 0.

    Args:
        objective: by which plans are compared.
        floor: a plan with less headroom than this, and less than now, is not better.

    Returns None when no plan within `max_moves` gains as much, or when the present one is infeasible
    (that is `replace_fragments`' work). Complexity: as there.
    """
    now = evaluate(problem, plan)
    floor = min(floor, now.rank)
    if not now.feasible:
        return None

    def rank(then: Evaluation) -> tuple[float, ...]:
        return (float(then.rank >= floor), *objective.rank(then))

    def enough(then: Evaluation) -> bool:
        return then.rank >= floor and objective.gains(now, then, min_gain)

    best = _fewest(problem, plan, boundaries, rank, enough, max_moves)
    return best if best is not None and enough(best.evaluation) else None


def _fewest(
    problem: Problem,
    plan: Plan,
    boundaries: Boundaries,
    rank: Callable[[Evaluation], tuple[float, ...]],
    enough: Callable[[Evaluation], bool],
    max_moves: int,
) -> Replacement | None:
    """The best by `rank` of the fewest moves that are enough; else the best found. One more move counts
    only if it raises the first two numbers of the rank."""
    now = evaluate(problem, plan)
    keys = [(q.query.name, last) for q in plan.queries for last in groups_of(q, boundaries[q.query.name])]
    options = {key: _options(problem, plan, boundaries, key, now) for key in keys}
    best: Replacement | None = None
    pairs = sum(map(len, options.values())) ** 2 / 2 <= MAX_PAIRS
    for moves in range(1, min(max_moves, len(keys)) + 1):
        earlier = best.moved if best and (moves > 2 or not pairs) else {}  # one more beside the best so far
        candidate = max(
            (_moved(problem, plan, boundaries, c) for c in _changes(options, moves - len(earlier), earlier)),
            key=lambda r: rank(r.evaluation),
            default=None,
        )
        if candidate is None or (best and rank(candidate.evaluation)[:2] <= rank(best.evaluation)[:2]):
            break
        best = candidate
        if enough(best.evaluation):
            break
    return best


def _standing(evaluation: Evaluation, target: float) -> tuple[float, float]:
    """What a plan is worth before its price: few violations, then headroom up to the target."""
    return -float(len(evaluation.reasons)), min(evaluation.rank, target)


def _options(
    problem: Problem, plan: Plan, boundaries: Boundaries, key: OperatorKey, now: Evaluation
) -> tuple[str, ...]:
    """Nodes where all operators of the fragment may run, the emptiest first, without the present one."""
    placed = next(q for q in plan.queries if q.query.name == key[0])
    members = groups_of(placed, boundaries[key[0]])[key[1]]
    allowed = [set(allowed_nodes(problem, placed.query, op)) for op in members]
    capacity = {node.name: node.cpu_capacity for node in problem.cluster.nodes}
    free = {name: c - now.loads[name].cpu(1.0) if name in now.loads else c for name, c in capacity.items()}
    usable = [n for n in set.intersection(*allowed) if n != placed.nodes[key[1]] and n in free]
    return tuple(sorted(usable, key=lambda n: (-free[n], n))[:MAX_CANDIDATES])


def _changes(
    options: Mapping[OperatorKey, tuple[str, ...]], more: int, earlier: Mapping[OperatorKey, str]
) -> Iterable[dict[OperatorKey, str]]:
    """All ways to move `more` fragments beside those in `earlier`."""
    free = [key for key in options if key not in earlier and options[key]]
    for keys in combinations(free, more):
        for nodes in product(*(options[key] for key in keys)):
            yield {**earlier, **dict(zip(keys, nodes, strict=True))}


def _moved(
    problem: Problem, plan: Plan, boundaries: Boundaries, moved: Mapping[OperatorKey, str]
) -> Replacement:
    queries = []
    for placed in plan.queries:
        nodes = dict(placed.nodes)
        for last, members in groups_of(placed, boundaries[placed.query.name]).items():
            target = moved.get((placed.query.name, last))
            if target is not None:
                nodes.update((op.id, target) for op in members)
        queries.append(replace(placed, nodes=nodes))
    changed = replace(plan, queries=tuple(queries))
    return Replacement(changed, evaluate(problem, changed), moved)
