"""`decide`: from what is to what shall be done; pure, hence the same in a cluster, on a laptop, in a test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from weir_placement.cost.evaluation import evaluate
from weir_placement.model.cluster import REFERENCE_CORE
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem
from weir_placement.replacement import headroom_of

from weir_operator.controller.actions import actions, choose_steps, cut_fragments
from weir_operator.controller.change import advance, specs_in_force
from weir_operator.controller.conditions import worth_writing
from weir_operator.controller.current_plan import as_specified
from weir_operator.controller.decision import Decision, DeletePlacement, WritePlacement
from weir_operator.controller.desired_state import DesiredState, Group
from weir_operator.controller.links import measured_links, remember, remembered, with_links
from weir_operator.controller.moves import under_way
from weir_operator.controller.quota_ledger import beside_plans_in_force
from weir_operator.controller.record import Record, name_of, read_record
from weir_operator.controller.replan import GroupReplan, entered, with_gone
from weir_operator.controller.report import assess, fragments, numbers, statuses, with_running
from weir_operator.controller.round_state import RoundState, specs_of
from weir_operator.controller.settings import Settings
from weir_operator.controller.snapshot import Snapshot
from weir_operator.controller.statistics import Measured, measured_by_fragment, measured_rates
from weir_operator.manifests.cluster import Used
from weir_operator.manifests.problem import less

Force = Sequence[tuple[str, FragmentSpec]]
"""(query, fragment) of the plans in force of a group."""


def decide(snapshot: Snapshot, desired: DesiredState, settings: Settings) -> Decision:
    """One round: plans first, then each fragment's next step, then what is said about it."""
    records, unreadable = _records(snapshot)
    desired = desired.without(unreadable)
    state = RoundState(snapshot, desired, settings, records, defaultdict(list))
    for process in snapshot.processes:
        state.processes[process.fragment].append(process)
    before = dict(state.records)
    for group in desired.groups:
        for name in group.queries:
            state.records.setdefault(name, Record(name))
            before.setdefault(name, Record(name))
    state.records = {name: record.recalled(snapshot.now) for name, record in state.records.items()}
    plan(state)
    advance(state)
    cut_fragments(state)
    choose_steps(state)
    known = {name for group in desired.groups for name in group.queries} | set(desired.faults)
    assess(state)
    placements = [p for name in sorted(state.records) if (p := _placement(state, name, before, known))]
    return Decision(
        placements=tuple(placements),
        actions=tuple(actions(state)),
        statuses=tuple(statuses(state)),
        events=tuple(state.events),
        keep=_kept(state) if settings.first_round_of(settings.sweep_period, snapshot.now) else None,
        wake_after=settings.period,
        explain=state.numbers,
    )


def _placement(
    state: RoundState, name: str, before: Mapping[str, Record], known: set[str]
) -> WritePlacement | DeletePlacement | None:
    """The Placement of one query if it says something new; it goes when all that it owned has gone."""
    record = state.records[name]
    if name not in known:
        alive = set(state.processes) | set(state.snapshot.leases)
        return None if alive & set(record.status.get("owned") or []) else DeletePlacement(name)
    if name in state.desired.faults or (record.plan is None and not record.status):
        return None
    record = with_running(state, record)
    present = before[name]
    if _intent(record) == _intent(present) and not worth_writing(
        present.status, record.status, numbers(state)
    ):
        return None
    return record.placement(fragments(state, name), specs_of(state, name) or record.told)


def _intent(record: Record) -> tuple[object, ...]:
    return record.revision, record.source, record.since, record.leaving


def _kept(state: RoundState) -> frozenset[str]:
    """Fragments whose flows and checkpoints stay: of plans in force, of processes and leases, and those that
    a Placement owns, also of queries that have become faulty."""
    planned = {spec.name for specs in state.specs.values() for spec in specs}
    owned = {name for record in state.records.values() for name in record.status.get("owned") or []}
    return frozenset(planned | owned | set(state.processes) | set(state.snapshot.leases))


def _records(snapshot: Snapshot) -> tuple[dict[str, Record], dict[str, str]]:
    """By query, and what is wrong with those that cannot be read: somebody has written into them."""
    records, unreadable = {}, {}
    for manifest in snapshot.objects:
        if manifest.get("kind") == "Placement":
            try:
                record = read_record(manifest)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                record = Record(name_of(manifest), status=manifest.get("status") or {})
                unreadable[record.query] = f"its Placement cannot be read: {error!r}"
            records[record.query] = record
    return records, unreadable


def plan(state: RoundState) -> None:
    """Groups in the order of their policies' priorities, each beside the load of the others."""
    readings = measured_by_fragment(state.snapshot.previous_metrics, state.snapshot.metrics)
    ledger = beside_plans_in_force(state)
    state.blocked |= ledger.blocked
    groups = state.desired.groups
    taken = {group.name: _taken(state, group) for group in groups} if len(groups) > 1 else {}
    for group in groups:
        mine = {n: state.records[n] for n in group.queries}
        force = list(_in_force(state, group))
        found = _measurements(force, readings)
        rates = measured_rates({n: r.plan for n, r in mine.items() if r.plan}, found)
        others = [used for name, used in taken.items() if name != group.name]
        seen = replace(group, problem=_beside_others(group, others))
        if group.measured_links:
            mine = {name: _with_links(state, group, force, record) for name, record in mine.items()}
            known = remembered({**state.records, **mine}.values())
            seen = replace(seen, problem=with_links(seen.problem, known))
        look = state.settings.first_round_of(state.settings.look_period, state.snapshot.now)
        full = _unplaced(state, force)
        moving = _moving(state, force)
        replan = GroupReplan(
            seen,
            state.desired,
            state.snapshot.now,
            mine,
            found,
            rates,
            full,
            moving=moving,
            look=look,
            ledger=ledger,
        )
        replan.run()
        state.records.update(replan.records)
        if taken:
            taken[group.name] = _taken(state, group)
        state.events += replan.events
        state.refused.update(replan.refused)
        state.refused |= {name: why for name, why in state.blocked.items() if name in mine}
        if replan.evaluation is not None:
            for name in mine:
                state.numbers.setdefault(name, {})["headroom"] = headroom_of(replan.evaluation)
                state.numbers[name]["binding"] = getattr(replan.evaluation.binding, "name", "")
                state.numbers[name]["latency"] = replan.evaluation.latency.get(name)
                state.numbers[name]["rates"] = dict(rates)


def _with_links(state: RoundState, group: Group, force: Force, record: Record) -> Record:
    """A record with what its fragments measured of the links between them."""
    if record.plan is None:
        return record
    specs = [spec for name, spec in force if name == record.query]
    found = measured_links(specs, state.snapshot.metrics, state.processes)
    return remember(record, found, group.problem.cluster.index)


def _in_force(state: RoundState, group: Group) -> Iterator[tuple[str, FragmentSpec]]:
    """(query, fragment) of every plan in force that is of the query's present version."""
    for name, desired in group.queries.items():
        if not desired.suspended:
            for spec in specs_in_force(state, group, desired, state.records[name]):
                yield name, spec


def _measurements(force: Force, readings: Mapping[str, Measured]) -> dict[str, dict[str, Measured]]:
    """Query -> last operator of a fragment -> measurement, for the plans in force."""
    result: dict[str, dict[str, Measured]] = {}
    for name, spec in force:
        if spec.name in readings:
            result.setdefault(name, {})[spec.operators[-1].id] = readings[spec.name]
    return result


def _moving(state: RoundState, force: Force) -> frozenset[str]:
    """Queries with a fragment that is still to reach its node."""
    leases = state.snapshot.leases
    return frozenset(
        name
        for name, spec in force
        if under_way(spec.node, state.processes.get(spec.name, ()), leases.get(spec.name))
    )


def _unplaced(state: RoundState, force: Force) -> dict[str, str]:
    """ "query/operator" -> the node where its fragment could not work for the grace time."""
    result: dict[str, str] = {}
    for name, spec in force:
        for process in state.processes.get(spec.name, ()):
            waited = state.snapshot.now - process.since
            here = process.no_room and process.wanted_node == spec.node
            if here and waited > state.settings.pending_grace:
                result |= {f"{name}/{op.id}": spec.node for op in spec.operators}
    return result


def _taken(state: RoundState, group: Group) -> Mapping[str, Used]:
    """By node, what a group's plans in force use; CPU in reference cores."""
    problem, cluster = group.problem, group.problem.cluster
    running = (
        as_specified(state.records[n], a, cluster) for n, a in group.queries.items() if not a.suspended
    )
    plans = [plan for plan in running if plan is not None]
    if not plans:
        return {}
    problem = replace(problem, cluster=with_gone(problem.cluster, plans))
    found = evaluate(problem, Plan(tuple(entered(problem, plan) for plan in plans)))
    return {
        node: Used(load.cpu(1.0) / REFERENCE_CORE, load.memory(1.0), load.egress(1.0), load.ingress(1.0))
        for node, load in found.loads.items()
    }


def _beside_others(group: Group, others: Sequence[Mapping[str, Used]]) -> Problem:
    """The group's problem with capacities less what other groups' plans in force use."""
    speed = {node.name: node.speed for node in group.problem.cluster.nodes}
    used: dict[str, Used] = defaultdict(Used)
    for taken in others:
        for node, load in taken.items():
            used[node] += replace(load, cpu=load.cpu / speed.get(node, 1.0))
    return less(group.problem, used)
