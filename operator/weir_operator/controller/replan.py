"""Which plan comes into force: rollbacks, first plans and edits; `drift` decides on moves later.

All of it is a pure function of records, problem and measurements; times (how long the headroom has been
low, when it last changed) are kept in the Placement's status, so that a restart loses nothing.
"""

from __future__ import annotations

from dataclasses import replace

from weir_placement.cost.flows import fragment_ends
from weir_placement.model.plan import QueryPlan

from weir_operator.controller.current_plan import as_specified, unconstrained
from weir_operator.controller.drift import drift
from weir_operator.controller.group_replan import GroupReplan
from weir_operator.controller.record import unpack
from weir_operator.planning.strategy import StrategyCall


def replan(planning: GroupReplan) -> None:
    """Rollbacks, then first plans and edits, then nodes to leave, then drift."""
    for name in planning.records:
        _roll_back(planning, name)
    _plan_new(planning)
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
        planning.add_event(name, "RolledBack", f"revision {record.pinned} is in force again")


def _plan_new(planning: GroupReplan) -> None:
    """Queries without a plan, or with one of another version, are planned beside what runs."""
    ledger, desired = planning.ledger, planning.group.queries
    new = [
        name
        for name, query in desired.items()
        if not query.suspended
        and planning.records[name].source != query.source
        and not planning.records[name].leaving
        and not (ledger and name in ledger.blocked)
    ]
    if not new:
        return
    cluster = planning.group.problem.cluster
    present = {n: r for n, r in planning.records.items() if n in desired and n not in new}
    plans = {n: plan for n, r in present.items() if (plan := as_specified(r, desired[n], cluster))}
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
    try:
        result = replace(call, options=options).run(problem)
    except Exception as error:  # of any kind: queries that run are still repaired and moved
        planning.errors |= dict.fromkeys(new, error)
        return
    planned = {plan.query.name: plan for plan in result.plan.queries}
    reasons = {rejection.query: rejection.reason for rejection in result.plan.rejected}
    for name in new:
        if name not in planned:
            planning.refusals[name] = reasons.get(name, "no placement was found for it")
            continue
        boundaries = frozenset(fragment_ends(planned[name]))
        why = "edited" if planning.records[name].plan else "first plan"
        if planning.adopt_or_propose(name, planned[name], boundaries, why, None) and ledger:
            ledger.reserve(name, len(boundaries))


def _operators(plan: QueryPlan | None) -> frozenset[str]:
    return frozenset(plan.nodes) if plan else frozenset()
