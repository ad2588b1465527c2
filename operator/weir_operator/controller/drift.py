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

from weir_operator.controller.current_plan import excluded_nodes

if TYPE_CHECKING:
    from weir_operator.controller.replan import GroupReplan

FOREVER_MOVES = 1000

Boundaries = Mapping[str, frozenset[str]]


def drift(replan: GroupReplan) -> None:
    """Judges the plans in force under measured statistics, and moves what must move."""
    running = replan.running()
    if not running:
        return
    problem = replan.problem_with_force(measured=True)
    barred = _barred(replan, problem.cluster, running)
    problem = replace(problem, forbidden=_either(problem.forbidden, barred.closed))
    plan = replan.measured_plan(running)
    boundaries = {n: replan.records[n].boundaries for n in running}
    replan.evaluation = evaluate(problem, plan)
    if _forced(replan, problem, plan, boundaries, barred):
        return
    still = [n for n in running if not _may_move(replan, n)]
    problem = replace(problem, pinned={**problem.pinned, **_held_in_place(replan, still)})
    present = headroom_of(replan.evaluation)
    low = present < replan.group.policy.drift.min_headroom and bool(replan.rates)
    if _held(replan, running, "lowSince", low):
        _relieve(replan, problem, plan, boundaries, running, present)
    if replan.look:
        _improve(replan, problem, plan, boundaries, running, low)


@dataclass(frozen=True)
class _Barred:
    """By operator, `query/id`: nodes that nothing of it comes to, and those at which it cannot stay."""

    closed: Mapping[str, frozenset[str]]
    gone: Mapping[str, frozenset[str]]

    def left(self, placed: QueryPlan) -> set[str]:
        """The nodes that a query has to leave."""
        nodes = placed.nodes.items()
        return {node for op, node in nodes if node in self.gone[f"{placed.query.name}/{op}"]}


def _barred(replan: GroupReplan, cluster: Cluster, running: list[str]) -> _Barred:
    """Nodes that are lost, or leaving, or have taints that a query does not tolerate, or that are not among
    those that an operator may run on. Under `onCordon: Stay` only the first and the last must be left."""
    state, moves = replan.desired, replan.group.policy.on_cordon == "Move"
    closed, gone = {}, {}
    for name in running:
        record = replan.records[name]
        assert record.plan is not None
        off = excluded_nodes(record, replan.group.queries[name], cluster)
        for op, node in record.plan.nodes.items():
            none, foreign = off.get(op, frozenset()), state.closed.get(name, frozenset())
            closed[f"{name}/{op}"] = (none | foreign) - {node}
            gone[f"{name}/{op}"] = none | state.lost | (state.nodes_to_leave(name) if moves else frozenset())
    return _Barred({key: nodes for key, nodes in closed.items() if nodes}, gone)


def _forced(
    replan: GroupReplan, problem: Problem, plan: Plan, boundaries: Boundaries, barred: _Barred
) -> bool:
    """Moves away from nodes where operators cannot stay, and from full ones; outside cooldown and budget."""
    left = {q.query.name: nodes for q in plan.queries if (nodes := barred.left(q))}
    if not left and not replan.unplaced:
        return False
    full = {key: barred.gone.get(key, frozenset()) | {node} for key, node in replan.unplaced.items()}
    found = replace_fragments(
        replace(problem, forbidden=_either(problem.forbidden, {**barred.gone, **full})),
        plan,
        boundaries,
        target=replan.group.policy.drift.min_headroom,
        min_gain=0.0,
        max_moves=FOREVER_MOVES,
    )
    names = ", ".join(sorted({*replan.unplaced.values()}.union(*left.values())))
    if found is None or any(barred.left(q) for q in found.plan.queries if q.query.name in left):
        _note(replan, list(left), f"stay: node {names} takes no more of it, but nothing else fits")
    if found is None:
        return False
    _adopt(replan, found, f"node {names} takes no more of it", drift=False)
    return True


def _either(*barred: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """By operator, the nodes that are in any of these."""
    keys = {key for nodes in barred for key in nodes}
    return {key: frozenset().union(*(nodes.get(key, ()) for nodes in barred)) for key in keys}


def _relieve(
    replan: GroupReplan,
    problem: Problem,
    plan: Plan,
    boundaries: Boundaries,
    running: list[str],
    present: float,
) -> None:
    """The fewest moves that raise a low headroom to the least one and the gain beyond it."""
    drift = replan.group.policy.drift
    assert replan.evaluation is not None
    reasons = replan.evaluation.reasons  # without their numbers: each look has others
    binding = reasons[0].partition(" is ")[0] if reasons else str(replan.evaluation.binding)
    budget = _budget(replan, running)
    target = drift.min_headroom * (1 + drift.min_gain)
    found = replace_fragments(problem, plan, boundaries, target, drift.min_gain, budget) if budget else None
    if found is None:
        text = f"stay: headroom {present:.2f} is low ({binding}); no {budget} moves gain enough"
        _note(replan, running, text)
        return
    why = f"headroom {present:.2f} below {drift.min_headroom:g} ({binding}); "
    _adopt(replan, found, why + f"{headroom_of(found.evaluation):.2f} after the move", drift=True)


def _improve(
    replan: GroupReplan, problem: Problem, plan: Plan, boundaries: Boundaries, running: list[str], low: bool
) -> None:
    """A plan that gains more than the threshold at every look for the hold time is taken.

    Only measured plans are compared: a process that has just started says nothing of its cost yet, and
    declared costs against measured ones would be a difference that is none.
    """
    policy = replan.group.policy
    if policy.drift.min_gain == 0 or not _all_measured(replan, plan, boundaries):
        return
    budget = _budget(replan, running)
    floor = policy.drift.min_headroom * (1 + policy.drift.min_gain)
    gain, most = policy.drift.min_gain, max(budget, 1)
    found = None
    if not low:
        found = better_placement(problem, plan, boundaries, policy.objective, gain, floor, most)
    if not _held(replan, running, "betterSince", found is not None) or found is None:
        return
    why = _gain(replan, found)
    if not budget:
        _note(replan, running, f"stay: {why}, but the move budget is used up")
        return
    _adopt(replan, found, f"a better plan for {policy.drift.hold:g} s: {why}", drift=True)


def _gain(replan: GroupReplan, found: Replacement) -> str:
    assert replan.evaluation is not None
    now, then = replan.evaluation, found.evaluation
    if replan.group.policy.objective == "network-usage":
        return f"network usage {now.network_usage:.3g} to {then.network_usage:.3g} bytes in transit"
    return f"headroom {headroom_of(now):.2f} to {headroom_of(then):.2f}"


def _all_measured(replan: GroupReplan, plan: Plan, boundaries: Boundaries) -> bool:
    return all(
        last in replan.found.get(q.query.name, {})
        for q in plan.queries
        for last in groups_of(q, boundaries[q.query.name])
    )


def _held(replan: GroupReplan, running: list[str], mark: str, holds: bool) -> bool:
    """Whether a condition, whose first time is kept under `mark`, has held long enough for a query that may
    move; what is seen while one is on its way does not count for it."""
    held = []
    for name in running:
        record = replan.records[name]
        since = record.drift.get(mark)
        holds_here = holds and name not in replan.moving
        wanted = (since if since is not None else replan.now) if holds_here else None
        if wanted != since:
            memory = {k: v for k, v in record.drift.items() if k != mark}
            record = record.with_status(drift={**memory, **({mark: wanted} if holds_here else {})})
            replan.records[name] = record
        long = wanted is not None and replan.now - wanted >= replan.group.policy.drift.hold
        held.append(long and _may_move(replan, name))
    return any(held)


def _may_move(replan: GroupReplan, name: str) -> bool:
    """Not a query that was rolled back, or is on its way, or has moved within the cooldown."""
    record = replan.records[name]
    cool = replan.now - float(record.drift.get("lastChange", 0.0)) >= replan.group.policy.cooldown
    return cool and record.pinned is None and name not in replan.moving


def _held_in_place(replan: GroupReplan, names: list[str]) -> dict[str, str]:
    """The operators of queries that drift does not move, where they are."""
    held = {n: p for n in names if (p := replan.records[n].plan)}
    return {f"{n}/{op}": node for n, plan in held.items() for op, node in plan.nodes.items()}


def _budget(replan: GroupReplan, running: list[str]) -> int:
    budget = replan.group.policy.move_budget
    recent: int = sum(
        t > replan.now - budget.period
        for name in running
        for t in replan.records[name].drift.get("moves", [])
    )
    return max(0, budget.moves - recent)


def _note(replan: GroupReplan, names: list[str], text: str) -> None:
    for name in names:
        replan.records[name] = replan.records[name].decided(replan.now, text)


def _adopt(replan: GroupReplan, found: Replacement, why: str, drift: bool) -> None:
    for query in sorted({query for query, _ in found.moved}):
        record = replan.records[query]
        assert record.plan is not None
        nodes = next(q.nodes for q in found.plan.queries if q.query.name == query)
        moved = ", ".join(f"{last} to {node}" for (q, last), node in found.moved.items() if q == query)
        changed = replace(record.plan, nodes=nodes)
        gain = headroom_of(found.evaluation)
        text = f"move {moved}: {why}"
        if replan.adopt_or_propose(query, changed, record.boundaries, text, gain) and drift:
            record = replan.records[query]
            times = [
                *record.drift.get("moves", []),
                *[replan.now] * sum(q == query for q, _ in found.moved),
            ]
            memory = {"lastChange": replan.now, "moves": times[-100:]}
            replan.records[query] = record.with_status(drift=memory)
