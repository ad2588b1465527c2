"""When a running query's fragments move: nodes that go, a headroom that stays low, a plan that stays better.

Conditions must hold for the policy's `hold`, outside `cooldown`, within `moveBudget`. Each has its own
threshold, and a move for one never brings the other about: a better plan keeps the headroom that a low one
is raised to. So nothing moves back and forth while the load stays within the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weir_placement.cost.evaluation import evaluate
from weir_placement.fragments import groups_of
from weir_placement.model.cluster import Cluster
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem
from weir_placement.replacement import Replacement, better_placement, headroom_of, replace_fragments

from weir_operator.controller.asked import kept_from

if TYPE_CHECKING:
    from weir_operator.controller.replan import Round

FOREVER_MOVES = 1000

Boundaries = Mapping[str, frozenset[str]]


def drift(round_: Round) -> None:
    """Judges the plans in force under measured statistics, and moves what must move."""
    running = round_.running()
    if not running:
        return
    problem = round_.problem_with_force(measured=True)
    barred = _barred(round_, problem.cluster, running)
    problem = replace(problem, forbidden=_either(problem.forbidden, barred.closed))
    plan = round_.measured_plan(running)
    boundaries = {n: round_.records[n].boundaries for n in running}
    round_.evaluation = evaluate(problem, plan)
    if _forced(round_, problem, plan, boundaries, barred):
        return
    still = [n for n in running if not _may_move(round_, n)]
    problem = replace(problem, pinned={**problem.pinned, **_held_in_place(round_, still)})
    present = headroom_of(round_.evaluation)
    low = present < round_.group.policy.drift.min_headroom and bool(round_.rates)
    if _held(round_, running, "lowSince", low):
        _relieve(round_, problem, plan, boundaries, running, present)
    if round_.look:
        _improve(round_, problem, plan, boundaries, running, low)


@dataclass(frozen=True)
class _Barred:
    """By operator, `query/id`: nodes that nothing of it comes to, and those at which it cannot stay."""

    closed: Mapping[str, frozenset[str]]
    gone: Mapping[str, frozenset[str]]

    def left(self, placed: QueryPlan) -> set[str]:
        """The nodes that a query has to leave."""
        nodes = placed.nodes.items()
        return {node for op, node in nodes if node in self.gone[f"{placed.query.name}/{op}"]}


def _barred(round_: Round, cluster: Cluster, running: list[str]) -> _Barred:
    """Nodes that are lost, or leaving, or have taints that a query does not tolerate, or that are not among
    those that an operator may run on. Under `onCordon: Stay` only the first and the last must be left."""
    world, moves = round_.world, round_.group.policy.on_cordon == "Move"
    closed, gone = {}, {}
    for name in running:
        record = round_.records[name]
        assert record.plan is not None
        off = kept_from(record, round_.group.queries[name], cluster)
        for op, node in record.plan.nodes.items():
            none, foreign = off.get(op, frozenset()), world.closed.get(name, frozenset())
            closed[f"{name}/{op}"] = (none | foreign) - {node}
            gone[f"{name}/{op}"] = none | world.lost | (world.leaves(name) if moves else frozenset())
    return _Barred({key: nodes for key, nodes in closed.items() if nodes}, gone)


def _forced(round_: Round, problem: Problem, plan: Plan, boundaries: Boundaries, barred: _Barred) -> bool:
    """Moves away from nodes where operators cannot stay, and from full ones; outside cooldown and budget."""
    left = {q.query.name: nodes for q in plan.queries if (nodes := barred.left(q))}
    if not left and not round_.unplaced:
        return False
    full = {key: barred.gone.get(key, frozenset()) | {node} for key, node in round_.unplaced.items()}
    found = replace_fragments(
        replace(problem, forbidden=_either(problem.forbidden, {**barred.gone, **full})),
        plan,
        boundaries,
        target=round_.group.policy.drift.min_headroom,
        min_gain=0.0,
        max_moves=FOREVER_MOVES,
    )
    names = ", ".join(sorted({*round_.unplaced.values()}.union(*left.values())))
    if found is None or any(barred.left(q) for q in found.plan.queries if q.query.name in left):
        _note(round_, list(left), f"stay: node {names} takes no more of it, but nothing else fits")
    if found is None:
        return False
    _adopt(round_, found, f"node {names} takes no more of it", drift=False)
    return True


def _either(*barred: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """By operator, the nodes that are in any of these."""
    keys = {key for nodes in barred for key in nodes}
    return {key: frozenset().union(*(nodes.get(key, ()) for nodes in barred)) for key in keys}


def _relieve(
    round_: Round,
    problem: Problem,
    plan: Plan,
    boundaries: Boundaries,
    running: list[str],
    present: float,
) -> None:
    """The fewest moves that raise a low headroom to the least one and the gain beyond it."""
    drift = round_.group.policy.drift
    assert round_.evaluation is not None
    reasons = round_.evaluation.reasons  # without their numbers: each look has others
    binding = reasons[0].partition(" is ")[0] if reasons else str(round_.evaluation.binding)
    budget = _budget(round_, running)
    target = drift.min_headroom * (1 + drift.min_gain)
    found = replace_fragments(problem, plan, boundaries, target, drift.min_gain, budget) if budget else None
    if found is None:
        text = f"stay: headroom {present:.2f} is low ({binding}); no {budget} moves gain enough"
        _note(round_, running, text)
        return
    why = f"headroom {present:.2f} below {drift.min_headroom:g} ({binding}); "
    _adopt(round_, found, why + f"{headroom_of(found.evaluation):.2f} after the move", drift=True)


def _improve(
    round_: Round, problem: Problem, plan: Plan, boundaries: Boundaries, running: list[str], low: bool
) -> None:
    """A plan that gains more than the threshold at every look for the hold time is taken.

    Only measured plans are compared: a process that has just started says nothing of its cost yet, and
    declared costs against measured ones would be a difference that is none.
    """
    policy = round_.group.policy
    if policy.drift.min_gain == 0 or not _all_measured(round_, plan, boundaries):
        return
    budget = _budget(round_, running)
    floor = policy.drift.min_headroom * (1 + policy.drift.min_gain)
    gain, most = policy.drift.min_gain, max(budget, 1)
    found = None
    if not low:
        found = better_placement(problem, plan, boundaries, policy.objective, gain, floor, most)
    if not _held(round_, running, "betterSince", found is not None) or found is None:
        return
    why = _gain(round_, found)
    if not budget:
        _note(round_, running, f"stay: {why}, but the move budget is used up")
        return
    _adopt(round_, found, f"a better plan for {policy.drift.hold:g} s: {why}", drift=True)


def _gain(round_: Round, found: Replacement) -> str:
    assert round_.evaluation is not None
    now, then = round_.evaluation, found.evaluation
    if round_.group.policy.objective == "network-usage":
        return f"network usage {now.network_usage:.3g} to {then.network_usage:.3g} bytes in transit"
    return f"headroom {headroom_of(now):.2f} to {headroom_of(then):.2f}"


def _all_measured(round_: Round, plan: Plan, boundaries: Boundaries) -> bool:
    return all(
        last in round_.found.get(q.query.name, {})
        for q in plan.queries
        for last in groups_of(q, boundaries[q.query.name])
    )


def _held(round_: Round, running: list[str], mark: str, holds: bool) -> bool:
    """Whether a condition, whose first time is kept under `mark`, has held long enough for a query that may
    move; what is seen while one is on its way does not count for it."""
    held = []
    for name in running:
        record = round_.records[name]
        since = record.drift.get(mark)
        holds_here = holds and name not in round_.moving
        wanted = (since if since is not None else round_.now) if holds_here else None
        if wanted != since:
            memory = {k: v for k, v in record.drift.items() if k != mark}
            record = record.with_status(drift={**memory, **({mark: wanted} if holds_here else {})})
            round_.records[name] = record
        long = wanted is not None and round_.now - wanted >= round_.group.policy.drift.hold
        held.append(long and _may_move(round_, name))
    return any(held)


def _may_move(round_: Round, name: str) -> bool:
    """Not a query that was rolled back, or is on its way, or has moved within the cooldown."""
    record = round_.records[name]
    cool = round_.now - float(record.drift.get("lastChange", 0.0)) >= round_.group.policy.cooldown
    return cool and record.pinned is None and name not in round_.moving


def _held_in_place(round_: Round, names: list[str]) -> dict[str, str]:
    """The operators of queries that drift does not move, where they are."""
    held = {n: p for n in names if (p := round_.records[n].plan)}
    return {f"{n}/{op}": node for n, plan in held.items() for op, node in plan.nodes.items()}


def _budget(round_: Round, running: list[str]) -> int:
    budget = round_.group.policy.move_budget
    recent = sum(
        t > round_.now - budget.period
        for name in running
        for t in round_.records[name].drift.get("moves", [])
    )
    return max(0, budget.moves - recent)


def _note(round_: Round, names: list[str], text: str) -> None:
    for name in names:
        round_.records[name] = round_.records[name].decided(round_.now, text)


def _adopt(round_: Round, found: Replacement, why: str, drift: bool) -> None:
    for query in sorted({query for query, _ in found.moved}):
        record = round_.records[query]
        assert record.plan is not None
        nodes = next(q.nodes for q in found.plan.queries if q.query.name == query)
        moved = ", ".join(f"{last} to {node}" for (q, last), node in found.moved.items() if q == query)
        changed = replace(record.plan, nodes=nodes)
        gain = headroom_of(found.evaluation)
        text = f"move {moved}: {why}"
        if round_.adopt_or_propose(query, changed, record.boundaries, text, gain) and drift:
            record = round_.records[query]
            times = [
                *record.drift.get("moves", []),
                *[round_.now] * sum(q == query for q, _ in found.moved),
            ]
            memory = {"lastChange": round_.now, "moves": times[-100:]}
            round_.records[query] = record.with_status(drift=memory)
