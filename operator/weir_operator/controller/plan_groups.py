"""Plans for all groups of a round: each gets what the plans in force of the others leave."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.plan import Plan

from weir_operator.controller.change import specs_in_force
from weir_operator.controller.current_plan import as_specified
from weir_operator.controller.desired_state import Group
from weir_operator.controller.group_replan import GroupReplan
from weir_operator.controller.links import measured_links, remember, remembered, with_links
from weir_operator.controller.moves import under_way
from weir_operator.controller.overdue import stuck_fragments, take_back
from weir_operator.controller.quota_ledger import QuotaLedger, beside_plans_in_force
from weir_operator.controller.record import Record
from weir_operator.controller.replan import replan
from weir_operator.controller.round_state import RoundState
from weir_operator.controller.statistics import Measurement, measured_by_fragment, measured_rates
from weir_operator.manifests.cluster import NodeUsage
from weir_operator.planning.capacity import subtract, total, usage_of
from weir_operator.planning.running import with_current_origins, with_missing_nodes

log = logging.getLogger("weir.decide")
InForce = Sequence[tuple[str, FragmentSpec]]
"""(query, fragment) of the plans in force of a group."""


def plan_groups(state: RoundState) -> None:
    """Groups in the order of their policies' priorities."""
    ledger = beside_plans_in_force(state)
    state.blocked |= ledger.blocked
    groups = state.desired.groups
    state.memory.forget_all_but(name for group in groups for name in group.queries)
    look = state.settings.first_round_of(state.settings.look_period, state.observed.now)
    several = len(groups) > 1
    usage = {group.name: _usage_or_none(state, group) for group in groups} if several else {}
    for group in (group for group in groups if group.planned):
        others = total(amounts for name, amounts in usage.items() if name != group.name)
        planning = _plan_isolated(state, group, others, ledger, look)
        if planning is None:
            continue
        ledger = planning.ledger or ledger
        state.records.update(planning.records)
        if several:
            usage[group.name] = _usage_or_none(state, group)
        _collect(state, planning)


def _plan_isolated(
    state: RoundState, group: Group, others: Mapping[str, NodeUsage], ledger: QuotaLedger, look: bool
) -> GroupReplan | None:
    """The group's planning. Queries that end it with an error, whatever it is, fail by themselves: they stay
    as they are, and the rest is planned beside them. None: all fail."""
    state.settings.alive()
    try:
        return _plan(state, group, others, ledger.copy(), look)
    except Exception as error:
        faulty = _errors_alone(state, group, ledger, new=False) or _errors_alone(
            state, group, ledger, new=True
        )
        if not faulty:
            for name in group.queries:
                state.fail(name, error)
            return None
    for name, own_error in faulty.items():
        state.fail(name, own_error)
    beside = _usage_or_none(state, group.only(faulty))
    sound = group.only(group.queries.keys() - faulty.keys())
    return _plan_isolated(state, sound, total([others, beside]), ledger, look)


def _errors_alone(state: RoundState, group: Group, ledger: QuotaLedger, new: bool) -> dict[str, Exception]:
    """By query, what its planning ends with when it is the only one; without `new`, of what is in force."""
    errors: dict[str, Exception] = {}
    for name in group.queries:
        try:
            _plan(state, group.only([name]), {}, ledger.copy(), look=False, new=new)
        except Exception as error:
            errors[name] = error
    return errors


def _plan(
    state: RoundState,
    group: Group,
    others: Mapping[str, NodeUsage],
    ledger: QuotaLedger,
    look: bool,
    new: bool = True,
) -> GroupReplan:
    """One group, planned beside what the others use; without `new`, only what is in force."""
    records = {name: state.records[name] for name in group.queries}
    in_force = list(_in_force(state, group))
    readings = measured_by_fragment(state.observed.previous_metrics, state.observed.metrics)
    measured = _measurements(in_force, readings)
    problem = subtract(group.problem, others)
    if group.measured_links:
        records = {n: _with_links(state, group, in_force, record) for n, record in records.items()}
        problem = with_links(problem, remembered({**state.records, **records}.values()))
    stuck, elsewhere = stuck_fragments(state, in_force)
    planning = GroupReplan(
        group=replace(group, problem=problem),
        desired=state.desired,
        now=state.observed.now,
        clock_set=state.observed.clock_set,
        records=records,
        measured=measured,
        rates=measured_rates({n: r.plan for n, r in records.items() if r.plan}, measured),
        unplaced={**_unplaced(state, in_force), **elsewhere},
        moving=_moving(state, in_force),
        look=look,
        longest=state.settings.longest_planning,
        ledger=ledger,
        ended=state.ended,
    )
    take_back(planning, stuck)
    replan(planning, state.memory if new else None)
    return planning


def _collect(state: RoundState, planning: GroupReplan) -> None:
    """Adds the results of a group's planning to the state of the round."""
    state.events += planning.events
    state.refusals.update(planning.refusals)
    for name, error in planning.errors.items():
        state.fail(name, error)
    state.refusals |= {name: why for name, why in state.blocked.items() if name in planning.records}
    evaluation = planning.evaluation
    if evaluation is None:
        return
    for name in planning.records:
        state.numbers.setdefault(name, {}).update(
            headroom=evaluation.rank,
            binding=getattr(evaluation.binding, "name", ""),
            latency=evaluation.latency.get(name),
            rates=planning.rates,
        )


def _with_links(state: RoundState, group: Group, in_force: InForce, record: Record) -> Record:
    """A record with the latencies that its fragments measured on the links between them."""
    if record.plan is None:
        return record
    specs = [spec for name, spec in in_force if name == record.query]
    links = measured_links(specs, state.observed.metrics, state.processes)
    return remember(record, links, group.problem.cluster.index)


def _in_force(state: RoundState, group: Group) -> Iterator[tuple[str, FragmentSpec]]:
    """(query, fragment) of every plan in force for the present version of its query."""
    for name, desired in group.queries.items():
        if not desired.suspended:
            for spec in specs_in_force(state, group, desired, state.records[name]):
                yield name, spec


def _measurements(
    in_force: InForce, readings: Mapping[str, Measurement]
) -> dict[str, dict[str, Measurement]]:
    """Query -> last operator of a fragment -> measurement, for the plans in force."""
    result: dict[str, dict[str, Measurement]] = {}
    for name, spec in in_force:
        if spec.name in readings:
            result.setdefault(name, {})[spec.operators[-1].id] = readings[spec.name]
    return result


def _moving(state: RoundState, in_force: InForce) -> frozenset[str]:
    """Queries with a fragment that is still to reach its node; all while nothing is to move."""
    if state.paused:
        return frozenset(name for name, _ in in_force)
    leases = state.observed.leases
    return frozenset(
        name
        for name, spec in in_force
        if under_way(spec.node, state.processes.get(spec.name, ()), leases.get(spec.name))
    )


def _unplaced(state: RoundState, in_force: InForce) -> dict[str, str]:
    """ "query/operator" -> the node where its fragment could not work for the grace time."""
    result: dict[str, str] = {}
    for name, spec in in_force:
        for process in state.processes.get(spec.name, ()):
            waited = state.observed.passed(process.since)
            here = process.no_room and process.planned_node == spec.node
            if here and waited > state.settings.pending_grace:
                result |= {f"{name}/{op.id}": spec.node for op in spec.operators}
    return result


def _usage_or_none(state: RoundState, group: Group) -> Mapping[str, NodeUsage]:
    """As `_usage`; empty when it cannot be computed, so that the other groups are still planned."""
    try:
        return _usage(state, group)
    except Exception:
        log.exception(
            "policy %s: cannot compute what its plans use; other policies are planned without", group.name
        )
        return {}


def _usage(state: RoundState, group: Group) -> Mapping[str, NodeUsage]:
    """By node, what a group's plans in force use."""
    problem = group.problem
    specified = (
        as_specified(state.records[name], desired, problem.cluster)
        for name, desired in group.queries.items()
        if not desired.suspended
    )
    plans = [plan for plan in specified if plan is not None]
    if not plans:
        return {}
    problem = replace(
        problem, cluster=with_missing_nodes(problem.cluster, plans, state.desired.unreadable_nodes)
    )
    return usage_of(problem, Plan(tuple(with_current_origins(problem, plan) for plan in plans)))
