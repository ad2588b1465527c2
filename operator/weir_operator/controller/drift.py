"""When a running query's fragments move: nodes to leave, headroom that stays low, a plan that stays better.

Conditions must hold for the policy's `hold`, outside `cooldown`, within `moveBudget`. Each has its own
threshold, and a move for one never triggers the other: a better plan must keep the headroom that low headroom
is raised to. So nothing moves back and forth while the load varies only by noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from weir_placement.cost.evaluation import evaluate
from weir_placement.fragments import groups_of
from weir_placement.model.cluster import Cluster
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem
from weir_placement.objectives import HEADROOM, OBJECTIVES, Objective
from weir_placement.replacement import Boundaries, Replacement, better_placement, replace_fragments

from weir_operator.api.values import format_duration
from weir_operator.controller.current_plan import excluded_nodes
from weir_operator.controller.group_replan import GroupReplan

FOREVER_MOVES = 1000


def drift(planning: GroupReplan) -> None:
    """Judges the plans in force under measured statistics, and moves what must move."""
    running = planning.running()
    if not running:
        return
    problem = planning.problem_in_force(measured=True)
    barred = _barred(planning, problem.cluster, running)
    problem = replace(problem, forbidden=_union(problem.forbidden, barred.closed))
    plan = planning.measured_plan(running)
    boundaries = {n: planning.records[n].boundaries for n in running}
    planning.evaluation = evaluate(problem, plan)
    if _forced(planning, problem, plan, boundaries, barred):
        return
    still = [n for n in running if not _may_move(planning, n)]
    problem = replace(problem, pinned={**problem.pinned, **_pins(planning, still)})
    present = planning.evaluation.rank
    low = present < planning.group.policy.drift.min_headroom and bool(planning.rates)
    if lasting := _lasting(planning, running, "lowSince", low):
        _relieve(planning, problem, plan, boundaries, lasting)
    if planning.look:
        _improve(planning, problem, plan, boundaries, running, low)


@dataclass(frozen=True)
class _Barred:
    """By operator, `query/id`: nodes to which it must not move, and those on which it must not stay."""

    closed: Mapping[str, frozenset[str]]
    unusable: Mapping[str, frozenset[str]]

    def nodes_to_leave(self, plan: QueryPlan) -> set[str]:
        """The nodes that a query has to leave."""
        nodes = plan.nodes.items()
        return {node for op, node in nodes if node in self.unusable[f"{plan.query.name}/{op}"]}


def _barred(planning: GroupReplan, cluster: Cluster, running: list[str]) -> _Barred:
    """Nodes that are lost, or cordoned, or have taints that a query does not tolerate, or that are not among
    those that an operator may run on. Under `onCordon: Stay` only the first and the last must be left."""
    state, moves = planning.desired, planning.group.policy.on_cordon == "Move"
    closed, unusable = {}, {}
    for name in running:
        record = planning.records[name]
        assert record.plan is not None
        excluded = excluded_nodes(record, planning.group.queries[name], cluster)
        drained = state.nodes_to_leave(name) if moves else frozenset()
        for op, node in record.plan.nodes.items():
            unlisted, tainted = excluded.get(op, frozenset()), state.closed.get(name, frozenset())
            closed[f"{name}/{op}"] = (unlisted | tainted) - {node}
            unusable[f"{name}/{op}"] = unlisted | state.lost | drained
    return _Barred({key: nodes for key, nodes in closed.items() if nodes}, unusable)


def _forced(
    planning: GroupReplan, problem: Problem, plan: Plan, boundaries: Boundaries, barred: _Barred
) -> bool:
    """Moves off nodes where operators cannot stay, and off full ones; cooldown and budget do not apply."""
    leaving = {q.query.name: nodes for q in plan.queries if (nodes := barred.nodes_to_leave(q))}
    if not leaving and not planning.unplaced:
        return False
    full = {key: barred.unusable.get(key, frozenset()) | {node} for key, node in planning.unplaced.items()}
    replacement = replace_fragments(
        replace(problem, forbidden=_union(problem.forbidden, {**barred.unusable, **full})),
        plan,
        boundaries,
        target=planning.group.policy.drift.min_headroom,
        min_gain=0.0,
        max_moves=FOREVER_MOVES,
    )
    names = ", ".join(sorted({*planning.unplaced.values()}.union(*leaving.values())))
    if replacement is None or any(
        barred.nodes_to_leave(q) for q in replacement.plan.queries if q.query.name in leaving
    ):
        _record_stay(planning, list(leaving), f"must leave {names}, but no other node has room")
    if replacement is None:
        return False
    _adopt(planning, replacement, f"must leave {names}", drift=False)
    return True


def _union(*barred: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """By operator, the nodes that are in any of these."""
    keys = {key for nodes in barred for key in nodes}
    return {key: frozenset().union(*(nodes.get(key, ()) for nodes in barred)) for key in keys}


def _relieve(
    planning: GroupReplan, problem: Problem, plan: Plan, boundaries: Boundaries, lasting: list[str]
) -> None:
    """The fewest moves that raise a low headroom to `minHeadroom` and `minGain` beyond it."""
    policy = planning.group.policy
    drift, evaluation = policy.drift, planning.evaluation
    assert evaluation is not None
    # without its numbers, which differ at each look: an equal decision is counted, not listed again
    binds = evaluation.binding
    binding = evaluation.reasons[0].subject if evaluation.reasons else binds.name if binds else "no capacity"
    low = f"headroom is below {drift.min_headroom:g} ({binding})"
    obstacles = {name: why for name in lasting if (why := _obstacle(planning, name))}
    for name, why in obstacles.items():
        _record_stay(planning, [name], f"{low}, but {why}")
    free = [name for name in lasting if name not in obstacles]
    if not free:
        return
    budget = _budget(planning, planning.running())
    if not budget:
        _record_stay(planning, free, f"{low}, but {_used_up(planning)}")
        return
    target = drift.min_headroom * (1 + drift.min_gain)
    replacement = replace_fragments(problem, plan, boundaries, target, drift.min_gain, budget)
    if replacement is None:
        others = ", ".join(name for name in planning.running() if not _may_move(planning, name))
        text = f"{low}, and no move raises it by minGain ({drift.min_gain:.0%})"
        text += f" while {others} may not move" if others else ""
        _record_stay(planning, free, text)
        return
    why = f"headroom {evaluation.rank:.2f} is below {drift.min_headroom:g} ({binding}); "
    _adopt(planning, replacement, why + f"{replacement.evaluation.rank:.2f} after the move", drift=True)


def _obstacle(planning: GroupReplan, name: str) -> str:
    """Why drift may not move a query now; empty: it may."""
    record, policy = planning.records[name], planning.group.policy
    if record.pinned is not None:
        return f"a rollback keeps it at revision {record.pinned} until `weir unpin {name}`"
    if not _may_move(planning, name):
        return f"it has changed within the cooldown ({format_duration(policy.cooldown)})"
    return ""


def _used_up(planning: GroupReplan) -> str:
    budget = planning.group.policy.move_budget
    return f"moveBudget ({budget.moves} in {format_duration(budget.period)}) is used up"


def _improve(
    planning: GroupReplan, problem: Problem, plan: Plan, boundaries: Boundaries, running: list[str], low: bool
) -> None:
    """A plan that gains more than the threshold at every look for the hold time is adopted.

    Only measured plans are compared: a process that has just started has no measured cost yet, and the
    difference between a declared cost and a measured one is not a gain.
    """
    policy = planning.group.policy
    if policy.drift.min_gain == 0 or not _all_measured(planning, plan, boundaries):
        return
    if problem.robustness:  # what is better as measured gives up what the plan was chosen for
        return
    budget = _budget(planning, running)
    floor = policy.drift.min_headroom * (1 + policy.drift.min_gain)
    gain, most = policy.drift.min_gain, max(budget, 1)
    replacement = None
    if not low:
        objective = _objective(planning)
        replacement = better_placement(problem, plan, boundaries, objective, gain, floor, most)
    lasting = _lasting(planning, running, "betterSince", replacement is not None)
    if replacement is None or not any(_may_move(planning, name) for name in lasting):
        return
    if not budget:
        text = f"a plan is better by minGain ({gain:.0%}) or more, but {_used_up(planning)}"
        _record_stay(planning, lasting, text)
        return
    why = _gain(planning, replacement)
    _adopt(planning, replacement, f"a plan that was better for {policy.drift.hold:g} s: {why}", drift=True)


def _gain(planning: GroupReplan, replacement: Replacement) -> str:
    assert planning.evaluation is not None
    now, then = planning.evaluation, replacement.evaluation
    return _objective(planning).change(now, then)


def _objective(planning: GroupReplan) -> Objective:
    objective = OBJECTIVES.get(planning.group.policy.objective, HEADROOM)
    return objective.up_to(planning.group.problem.enough) if objective is HEADROOM else objective


def _all_measured(planning: GroupReplan, plan: Plan, boundaries: Boundaries) -> bool:
    return all(
        last in planning.measured.get(q.query.name, {})
        for q in plan.queries
        for last in groups_of(q, boundaries[q.query.name])
    )


def _lasting(planning: GroupReplan, running: list[str], mark: str, holds: bool) -> list[str]:
    """The queries for which a condition, whose start is stored under `mark`, has lasted for `drift.hold`; the
    time in which a query is moving does not count."""
    lasting = []
    for name in running:
        record = planning.records[name]
        since = record.drift.get(mark)
        holds_here = holds and name not in planning.moving
        start = (since if since is not None else planning.now) if holds_here else None
        if start != since:
            memory = {k: v for k, v in record.drift.items() if k != mark}
            record = record.with_status(drift={**memory, **({mark: start} if holds_here else {})})
            planning.records[name] = record
        if start is not None and planning.passed(start) >= planning.group.policy.drift.hold:
            lasting.append(name)
    return lasting


def _may_move(planning: GroupReplan, name: str) -> bool:
    """Not a query that was rolled back, or is moving, or has moved within the cooldown."""
    record = planning.records[name]
    cool = planning.passed(float(record.drift.get("lastChange", 0.0))) >= planning.group.policy.cooldown
    return cool and record.pinned is None and name not in planning.moving


def _pins(planning: GroupReplan, names: list[str]) -> dict[str, str]:
    """The operators of these queries, on the nodes where they are: drift does not move them."""
    plans = {n: plan for n in names if (plan := planning.records[n].plan)}
    return {f"{n}/{op}": node for n, plan in plans.items() for op, node in plan.nodes.items()}


def _budget(planning: GroupReplan, running: list[str]) -> int:
    budget = planning.group.policy.move_budget
    recent: int = sum(
        planning.passed(t) < budget.period
        for name in running
        for t in planning.records[name].drift.get("moves", [])
    )
    return max(0, budget.moves - recent)


def _record_stay(planning: GroupReplan, names: list[str], why: str) -> None:
    for name in names:
        planning.records[name] = planning.records[name].with_decision(planning.now, why, stays=True)


def _adopt(planning: GroupReplan, replacement: Replacement, why: str, drift: bool) -> None:
    for query in sorted({query for query, _ in replacement.moved}):
        record = planning.records[query]
        assert record.plan is not None
        nodes = next(q.nodes for q in replacement.plan.queries if q.query.name == query)
        moved = ", ".join(f"{last} to {node}" for (q, last), node in replacement.moved.items() if q == query)
        changed = replace(record.plan, nodes=nodes)
        gain = replacement.evaluation.rank
        text = f"move {moved}: {why}"
        if planning.adopt_or_propose(query, changed, record.boundaries, text, gain, record.source) and drift:
            record = planning.records[query]
            times = [
                *record.drift.get("moves", []),
                *[planning.now] * sum(q == query for q, _ in replacement.moved),
            ]
            memory = {"lastChange": planning.now, "moves": times[-100:]}
            planning.records[query] = record.with_status(drift=memory)
