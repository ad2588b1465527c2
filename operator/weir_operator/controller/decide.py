"""`decide`: from what is to what shall be done; pure, hence the same in a cluster, on a laptop, in a test."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weir_placement.cost.evaluation import evaluate
from weir_placement.fragments import cut
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.plan import Plan
from weir_placement.replacement import headroom_of

from weir_operator.controller.conditions import Health, conditions, worth_writing
from weir_operator.controller.decision import (
    Action,
    Decision,
    DeletePlacement,
    Event,
    Protect,
    WritePlacement,
    WriteStatus,
)
from weir_operator.controller.definitions import definition_statuses
from weir_operator.controller.moves import Step, Wanted, next_step, removal
from weir_operator.controller.record import Record, read_record
from weir_operator.controller.replan import Round
from weir_operator.controller.settings import Settings
from weir_operator.controller.snapshot import Process, Snapshot
from weir_operator.controller.statistics import Measured, measured_by_fragment, measured_rates
from weir_operator.controller.world import Asked, Fault, Group, World


@dataclass
class _Work:
    """What one round collects."""

    snapshot: Snapshot
    world: World
    settings: Settings
    records: dict[str, Record]
    processes: dict[str, list[Process]]
    specs: dict[str, tuple[FragmentSpec, ...]] = field(default_factory=dict)  # by query
    steps: dict[str, Step] = field(default_factory=dict)  # by fragment
    events: list[Event] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)  # by query: headroom, latency, binding


def decide(snapshot: Snapshot, world: World, settings: Settings) -> Decision:
    """One round: plans first, then each fragment's next step, then what is said about it."""
    work = _Work(snapshot, world, settings, _records(snapshot), defaultdict(list))
    for process in snapshot.processes:
        work.processes[process.fragment].append(process)
    before = dict(work.records)
    for group in world.groups:
        for name in group.queries:
            work.records.setdefault(name, Record(name))
            before.setdefault(name, Record(name))
    _plan(work)
    _cut_all(work)
    _step_all(work)
    known = {name for group in world.groups for name in group.queries} | set(world.faults)
    _assess(work)
    placements = [p for name in sorted(work.records) if (p := _placement(work, name, before, known))]
    return Decision(
        placements=tuple(placements),
        actions=tuple(_actions(work)),
        statuses=tuple(_statuses(work)),
        events=tuple(work.events),
        wake_after=settings.period,
        explain=work.numbers,
    )


def _placement(
    work: _Work, name: str, before: Mapping[str, Record], known: set[str]
) -> WritePlacement | DeletePlacement | None:
    """The Placement of one query if it says something new; it goes when all that it owned has gone."""
    record = work.records[name]
    if name not in known:
        alive = set(work.processes) | set(work.snapshot.leases)
        return None if alive & set(record.status.get("owned") or []) else DeletePlacement(name)
    if name in work.world.faults or (record.plan is None and not record.status):
        return None
    record = _with_running(work, record)
    wanted = record.placement(_fragments(work, name))
    present = before[name]
    same = (record.revision, record.source) == (present.revision, present.source)
    return None if same and not worth_writing(present.status, record.status) else wanted


def _records(snapshot: Snapshot) -> dict[str, Record]:
    found = (read_record(o) for o in snapshot.objects if o.get("kind") == "Placement")
    return {record.query: record for record in found}


def _specs_of(work: _Work, query: str) -> tuple[FragmentSpec, ...]:
    return work.specs.get(query, ())


# -- plans


def _plan(work: _Work) -> None:
    """Groups in the order of their policies' priorities, each beside the load of the others."""
    readings = measured_by_fragment(work.snapshot.previous_metrics, work.snapshot.metrics)
    for group in work.world.groups:
        mine = {n: work.records[n] for n in group.queries}
        found = _measurements(work, group, readings)
        rates = measured_rates({n: r.plan for n, r in mine.items() if r.plan}, found)
        seen = replace(group, problem=_beside_others(work, group))
        round_ = Round(seen, work.world, work.snapshot.now, mine, found, rates)
        round_.run()
        work.records.update(round_.records)
        work.events += round_.events
        work.refused.update(round_.refused)
        if round_.evaluation is not None:
            for name in mine:
                work.numbers.setdefault(name, {})["headroom"] = headroom_of(round_.evaluation)
                work.numbers[name]["binding"] = str(round_.evaluation.binding or "")
                work.numbers[name]["rates"] = dict(rates)


def _measurements(
    work: _Work, group: Group, readings: Mapping[str, Measured]
) -> dict[str, dict[str, Measured]]:
    """Query -> last operator of a fragment -> measurement, for the plans in force."""
    result: dict[str, dict[str, Measured]] = {}
    for name, asked in group.queries.items():
        record = work.records[name]
        if record.plan is None or record.source != asked.source:
            continue
        for spec in cut(
            record.plan, group.problem.streams, asked.ends, work.settings.layout, record.boundaries
        ):
            if spec.name in readings:
                result.setdefault(name, {})[spec.operators[-1].id] = readings[spec.name]
    return result


def _beside_others(work: _Work, group: Group) -> Any:
    """The group's problem with capacities less what other groups' plans in force use."""
    cpu: dict[str, float] = defaultdict(float)
    memory: dict[str, float] = defaultdict(float)
    for other in work.world.groups:
        if other.name == group.name:
            continue
        plans = tuple(p for n in other.queries if (p := work.records[n].plan) is not None)
        if not plans:
            continue
        for node, load in evaluate(other.problem, Plan(plans)).loads.items():
            cpu[node] += load.cpu(1.0)
            memory[node] += load.memory(1.0)
    if not cpu:
        return group.problem
    nodes = tuple(
        replace(
            n,
            cpu=max(0.0, n.cpu - cpu[n.name] / (1e6 * n.speed)),
            memory=max(0.0, n.memory - memory[n.name]),
        )
        for n in group.problem.cluster.nodes
    )
    return replace(group.problem, cluster=replace(group.problem.cluster, nodes=nodes))


# -- fragments


def _cut_all(work: _Work) -> None:
    for group in work.world.groups:
        for name, asked in group.queries.items():
            record = work.records[name]
            if record.plan is not None and not asked.suspended and record.source == asked.source:
                work.specs[name] = cut(
                    record.plan, group.problem.streams, asked.ends, work.settings.layout, record.boundaries
                )


def _build(spec: FragmentSpec, policy: str) -> str:
    """Hash of what a process is told beside node and epoch: another one means another process."""
    told = replace(spec, node="", epoch=0, lease="", state="", output=replace(spec.output, consumers=()))
    return hashlib.sha256(f"{told.to_json()} {policy}".encode()).hexdigest()[:12]


def _step_all(work: _Work) -> None:
    """Fragments that moves are under way for go first, so that the limit holds for new ones."""
    wanted: dict[str, Wanted] = {}
    for group in work.world.groups:
        for name in group.queries:
            for spec in _specs_of(work, name):
                wanted[spec.name] = Wanted(spec, _build(spec, group.name), name, group.name)
    under_way = 0
    order = sorted(wanted, key=lambda f: (not _moves_now(work, f), f))
    for fragment in order:
        want, seen = wanted[fragment], work.processes.get(fragment, [])
        lease = work.snapshot.leases.get(fragment)
        forced = any(p.node in work.world.lost | work.world.leaving for p in seen)
        may = forced or under_way < work.settings.concurrent_moves
        step = next_step(want, seen, lease, work.settings.layout, may, work.settings.standby)
        under_way += step.phase == "moving"
        work.steps[fragment] = step
    _remove_unwanted(work, wanted)


def _moves_now(work: _Work, fragment: str) -> bool:
    return len({p.epoch for p in work.processes.get(fragment, [])}) > 1


def _remove_unwanted(work: _Work, wanted: Mapping[str, Wanted]) -> None:
    """Fragments of edited, suspended and deleted queries. Those of an edited query stay until all of the
    new plan run; those of one that has become faulty stay as they are."""
    owners = _owners(work)
    for fragment in sorted(set(work.processes) | set(work.snapshot.leases)):
        if fragment in wanted:
            continue
        query = owners.get(fragment, "")
        if query in work.world.faults:
            continue
        asked = _asked(work, query)
        news = [work.steps[s.name] for s in _specs_of(work, query)]
        if asked and not asked.suspended and (query in work.refused or any(_young(s) for s in news)):
            continue
        suspended = asked is not None and asked.suspended
        work.steps[fragment] = removal(fragment, query, work.processes.get(fragment, []), not suspended)


def _young(step: Step) -> bool:
    return step.phase in ("waiting", "starting")


def _owners(work: _Work) -> dict[str, str]:
    """Fragment -> query, also for fragments of plans that are no more: the Placements' history knows them."""
    owners = {}
    for name, record in work.records.items():
        for entry in record.status.get("owned") or []:
            owners[entry] = name
    return owners


def _asked(work: _Work, query: str) -> Asked | None:
    return next((g.queries[query] for g in work.world.groups if query in g.queries), None)


def _actions(work: _Work) -> list[Action]:
    actions: list[Action] = []
    for fragment in sorted(work.steps, key=lambda f: (work.steps[f].phase in ("stopping", "gone"), f)):
        actions += work.steps[fragment].actions
    return actions + list(_protection(work))


def _protection(work: _Work) -> list[Protect]:
    """A budget for each fragment that runs; none once the time that a drain may be held up is over."""
    result: list[Protect] = []
    wanted: dict[str, str] = {}
    for group in work.world.groups:
        for name in group.queries:
            for spec in _specs_of(work, name):
                held = work.snapshot.budget_since.get(spec.name)
                over = held is not None and work.snapshot.now - held > group.policy.drain_timeout
                stuck = spec.node in work.world.leaving and work.steps[spec.name].phase == "running"
                if (
                    work.steps[spec.name].phase in ("running", "moving", "starting")
                    and not over
                    and not stuck
                ):
                    wanted[spec.name] = name
    for fragment, query in sorted(wanted.items()):
        if fragment not in work.snapshot.protected:
            result.append(Protect(fragment, query, True))
    owners = _owners(work)
    for fragment in sorted(work.snapshot.protected - set(wanted)):
        result.append(Protect(fragment, owners.get(fragment, ""), False))
    return result


# -- what is said


def _fragments(work: _Work, query: str) -> list[Mapping[str, Any]]:
    return [
        {
            "name": spec.name,
            "node": spec.node,
            "hash": spec.name.rsplit("-", 1)[-1],
            "operators": [op.id for op in spec.operators],
        }
        for spec in _specs_of(work, query)
    ]


def _with_running(work: _Work, record: Record) -> Record:
    running = []
    for spec in _specs_of(work, record.query):
        owner = work.steps[spec.name].owner
        running.append(
            {
                "name": spec.name,
                "node": owner.node if owner else "",
                "epoch": owner.epoch if owner else 0,
                "state": owner.state if owner else work.steps[spec.name].phase,
                "message": owner.message[:1000] if owner else "",
            }
        )
    names = [spec.name for spec in _specs_of(work, record.query)]
    alive = set(work.processes) | set(work.snapshot.leases)
    owned = sorted(set(names) | {f for f in record.status.get("owned") or [] if f in alive})
    good = sum(entry["state"] in ("running", "finished") for entry in running)
    return record.with_status(
        running=running,
        owned=owned or None,
        ready=f"{good}/{len(running)}" if running else None,
        nodes=", ".join(sorted({spec.node for spec in _specs_of(work, record.query)})) or None,
        revision=record.revision or None,
        headroom=_finite(work.numbers.get(record.query, {}).get("headroom")),
    )


def _finite(value: float | None) -> float | None:
    return None if value is None or value in (float("inf"), float("-inf")) else round(value, 4)


def _assess(work: _Work) -> None:
    """Events of processes that are not where they were told to be, or have failed."""
    for group in work.world.groups:
        for name in group.queries:
            for spec in _specs_of(work, name):
                owner = work.steps[spec.name].owner
                if owner and owner.node and owner.wanted_node and owner.node != owner.wanted_node:
                    text = f"{spec.name} runs on {owner.node}, not on {owner.wanted_node}"
                    work.events.append(Event(name, "OffItsPin", text, warning=True))
                if owner and owner.state == "failed":
                    again = f"start {owner.restarts + 2}"
                    text = f"{spec.name} failed and is started again ({again}): {owner.message}"
                    work.events.append(Event(name, "FragmentFailed", text, warning=True))


def _health(work: _Work, name: str, asked: Asked, mode: str) -> Health:
    record = work.records[name]
    if asked.suspended:
        return Health(True, False, False, False, "Suspended", "suspended: nothing runs, checkpoints stay")
    if name in work.refused:
        runs = record.plan is not None
        return Health(runs, False, True, False, "Rejected", work.refused[name])
    specs = _specs_of(work, name)
    if not specs:
        reason = "Proposed" if record.status.get("proposed") else "Planning"
        return Health(False, True, False, False, reason, f"no plan in force yet (mode {mode})")
    steps = {s.name: work.steps[s.name] for s in specs}
    moving = sorted(f for f, s in steps.items() if s.phase == "moving")
    serving = [
        s.name
        for s in specs
        if (o := steps[s.name].owner)
        and o.state in ("running", "finished")
        and o.node == (o.wanted_node or o.node)
    ]
    if len(serving) == len(specs):
        text = f"{len(specs)} fragments run on {len({s.node for s in specs})} nodes"
        if moving:
            return Health(True, False, False, True, "Moving", f"moving {', '.join(moving)}")
        return Health(True, False, False, False, "Running", text)
    late = sorted(set(steps) - set(serving))
    text = "; ".join(f"{f} is {steps[f].owner.state if steps[f].owner else steps[f].phase}" for f in late)  # type: ignore[union-attr]
    was_ready = any(
        c["type"] == "Ready" and c["status"] == "True"
        for c in work.world.statuses.get(name, {}).get("conditions", [])  # type: ignore[attr-defined]
    )
    if moving and was_ready and set(late) <= set(moving):
        return Health(True, False, False, True, "Moving", f"moving {', '.join(moving)}")
    return Health(False, True, False, bool(moving), "FragmentsNotReady", text)


def _fault(work: _Work, name: str, fault: Fault) -> Health:
    age = work.snapshot.now - work.world.created.get(name, work.snapshot.now)
    waits = fault.missing and age < work.settings.reference_grace
    reason = "ReferenceNotFound" if fault.missing else "Invalid"
    return Health(False, waits, not waits, False, reason, fault.message)


def _statuses(work: _Work) -> list[WriteStatus]:
    result = []
    for group in work.world.groups:
        for name, asked in group.queries.items():
            health = _health(work, name, asked, group.policy.mode)
            specs = _specs_of(work, name)
            numbers = work.numbers.get(name, {})
            extra = {
                "headroom": _finite(numbers.get("headroom")),
                "binding": numbers.get("binding") or None,
                "fragments": len(specs) or None,
                "readyFragments": sum(work.steps[s.name].phase in ("running", "finished") for s in specs)
                if specs
                else None,
                "nodes": ", ".join(sorted({s.node for s in specs})) or None,
                "revision": work.records[name].revision or None,
            }
            result += _status(work, name, health, asked.generation, extra)
    for name, fault in work.world.faults.items():
        result += _status(work, name, _fault(work, name, fault), fault.generation, {})
    return result + definition_statuses(work.snapshot, work.world)


def _status(
    work: _Work, name: str, health: Health, generation: int, extra: Mapping[str, Any]
) -> list[WriteStatus]:
    present: Mapping[str, Any] = work.world.statuses.get(name, {})
    made = conditions(health, generation, work.snapshot.now, present.get("conditions") or [])
    status = {
        "observedGeneration": generation,
        "conditions": made,
        **{k: v for k, v in extra.items() if v is not None},
    }
    if not worth_writing(present, status):
        return []
    namespace, short = name.split("/", 1)
    return [WriteStatus("StreamQuery", namespace, short, status)]
