"""Which plan comes into force: rollbacks, first plans and edits; `drift` decides on moves later.

All of it is a pure function of records, problem and measurements; times (how long the headroom has been
low, when it last changed) are kept in the Placement's status, so that a restart loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weir_placement.cost.flows import fragment_ends
from weir_placement.model.plan import Plan, QueryPlan

from weir_operator.controller.current_plan import as_specified, unconstrained
from weir_operator.controller.drift import drift
from weir_operator.controller.group_replan import GroupReplan
from weir_operator.controller.record import unpack
from weir_operator.controller.refusal_memory import RefusalMemory
from weir_operator.controller.refusals import ground_of, keep_outcomes, to_search
from weir_operator.planning.strategy import StrategyCall


def replan(planning: GroupReplan, memory: RefusalMemory | None) -> None:
    """Rollbacks, then first plans and edits (with a `memory`), then nodes that go, then drift."""
    for name in planning.records:
        _roll_back(planning, name)
    if memory is not None and (new := _without_plan(planning)):
        ground = ground_of(planning)
        new = to_search(planning, memory, ground, new)
        _plan_new(planning, new)
        keep_outcomes(planning, memory, ground, new)
    drift(planning)


def _roll_back(planning: GroupReplan, name: str) -> None:
    """To the revision that a person has pinned the query to."""
    record = planning.records[name]
    if record.pinned is None and "pinnedRevision" in record.status:  # the same may be pinned once more
        record = planning.records[name] = record.with_status(pinnedRevision=None)
    if record.pinned is None or record.pinned == record.status.get("pinnedRevision"):
        return
    entry = next((e for e in record.history if e["revision"] == record.pinned), None)
    plan, boundaries, source = unpack(entry.get("plan") if entry else None)
    if plan is None or source != record.source:
        reason = "it belongs to another version of the query" if plan else "it is not in the history"
        text = f"cannot roll back to revision {record.pinned}: {reason}"
        planning.records[name] = record.with_decision(planning.now, text)
    elif boundaries != record.boundaries or _operators(plan) != _operators(record.plan):
        text = (
            f"cannot roll back to revision {record.pinned}: its fragments differ from those that run, "
            "whose state would be lost"
        )
        planning.records[name] = record.with_decision(planning.now, text)
    else:
        why = f"rollback to revision {record.pinned}"
        changed = record.adopt(plan, boundaries, source, planning.now, why).with_decision(planning.now, why)
        planning.records[name] = changed.with_status(pinnedRevision=record.pinned)
        planning.add_event(name, "RolledBack", f"revision {record.pinned} is in force")


def _without_plan(planning: GroupReplan) -> list[str]:
    """Queries without a plan, or with one of another version."""
    ledger = planning.ledger
    return [
        name
        for name, query in planning.group.queries.items()
        if not query.suspended
        and not query.unplannable
        and planning.records[name].source != query.source
        and not planning.records[name].leaving
        and not planning.ended.get(name)
        and not (ledger and name in ledger.blocked)
    ]


def _plan_new(planning: GroupReplan, new: Sequence[str]) -> None:
    """These queries are planned beside what runs. Where that ends with an error they are planned by halves,
    so that one of them does not stop the others."""
    if not new:
        return
    beside = [name for name in planning.group.queries if name not in {*new, *planning.left_out}]
    try:
        plan = _plan_beside(planning, beside, new)
    except Exception as error:  # whatever it is: those that run are still repaired and moved
        _isolate(planning, beside, new, error)
        return
    planned = {placed.query.name: placed for placed in plan.queries}
    reasons = {rejection.query: rejection.reason for rejection in plan.rejected}
    for name in new:
        try:
            _adopt_new(planning, name, planned.get(name), reasons.get(name, "no plan was found for it"))
        except Exception as error:  # whatever it is: the others come into force
            planning.errors[name] = error


def _plan_beside(planning: GroupReplan, beside: Sequence[str], new: Sequence[str]) -> Plan:
    """The policy's strategy on the new queries, beside the plans in force of the others."""
    ledger, desired, cluster = planning.ledger, planning.group.queries, planning.group.problem.cluster
    present = {name: as_specified(planning.records[name], desired[name], cluster) for name in beside}
    plans = {name: plan for name, plan in present.items() if plan}
    pinned = {f"{n}/{op}": node for n, plan in plans.items() for op, node in plan.nodes.items()}
    queries = [unconstrained(plan.query) for plan in plans.values()] + [desired[n].model for n in new]
    problem = planning.problem_in_force(measured=False)
    problem = replace(
        problem,
        budgets=ledger.remaining(new) if ledger else (),
        queries=tuple(queries),
        pinned={**problem.pinned, **pinned},
    )
    call = StrategyCall.of(planning.group.policy)
    # no fragment is shared between queries at run time: a plan that counted on it would overload nodes
    options = {key: value for key, value in call.options.items() if key != "reuse"}
    limit = min(call.time_limit, planning.longest)
    return replace(call, options=options, time_limit=limit).run(problem).plan


def _isolate(planning: GroupReplan, beside: Sequence[str], new: Sequence[str], error: Exception) -> None:
    """Plans the new queries without those that end the planning with an error."""
    if _error_of(planning, beside) is None:  # it is one of the new ones
        if len(new) == 1:
            planning.errors[new[0]] = error
            return
        half = len(new) // 2
        _plan_new(planning, new[:half])
        _plan_new(planning, new[half:])
        return
    faulty = {name: own for name in beside if (own := _error_of(planning, [name]))}
    planning.errors |= faulty or dict.fromkeys(new, error)
    planning.left_out |= faulty.keys()
    if faulty:
        _plan_new(planning, new)


def _error_of(planning: GroupReplan, beside: Sequence[str]) -> Exception | None:
    """What planning ends with when there is nothing new beside these."""
    try:
        _plan_beside(planning, beside, ())
    except Exception as error:
        return error
    return None


def _adopt_new(planning: GroupReplan, name: str, plan: QueryPlan | None, refusal: str) -> None:
    if plan is None:
        planning.refusals[name] = refusal
        return
    boundaries = frozenset(fragment_ends(plan))
    why = "edited" if planning.records[name].plan else "first plan"
    source = planning.group.queries[name].source
    if planning.adopt_or_propose(name, plan, boundaries, why, None, source) and planning.ledger:
        planning.ledger.reserve(name, len(boundaries))


def _operators(plan: QueryPlan | None) -> frozenset[str]:
    return frozenset(plan.nodes) if plan else frozenset()
