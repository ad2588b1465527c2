"""What a round reports: statuses of queries, running fragments in their Placements, warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weir_operator.api.fit import fit
from weir_operator.controller.conditions import Health, conditions, worth_writing
from weir_operator.controller.decision import Event, WriteStatus
from weir_operator.controller.definitions import definition_statuses, finite, short
from weir_operator.controller.desired_state import DesiredQuery, Fault
from weir_operator.controller.moves import FragmentStep
from weir_operator.controller.record import Record
from weir_operator.controller.round_state import RoundState, specs_of
from weir_operator.controller.snapshot import FragmentMetrics, Process


def fragments(state: RoundState, query: str) -> list[Mapping[str, Any]]:
    """The fragments of a Placement's spec."""
    return [
        {
            "name": spec.name,
            "node": spec.node,
            "hash": spec.name.rsplit("-", 1)[-1],
            "operators": [op.id for op in spec.operators],
        }
        for spec in specs_of(state, query)
    ]


def with_running(state: RoundState, record: Record) -> Record:
    """The record with what really runs in the Placement's status."""
    running: list[dict[str, Any]] = []
    for spec in specs_of(state, record.query):
        owner = state.steps[spec.name].owner
        running.append(
            {
                "name": spec.name,
                "node": owner.node if owner else "",
                "epoch": owner.epoch if owner else 0,
                "state": owner.state if owner else state.steps[spec.name].phase,
                "message": owner.message if owner else "",
            }
        )
        if spec.executors:
            running[-1]["executors"] = f"{owner.executors if owner else 0}/{spec.executors}"
    names = [spec.name for spec in (*specs_of(state, record.query), *record.leaving)]
    alive = set(state.processes) | set(state.snapshot.leases)
    owned = sorted(set(names) | {f for f in record.owned if f in alive})
    ready = sum(entry["state"] in ("running", "finished") for entry in running)
    return record.with_status(
        running=running,
        owned=owned or None,
        ready=f"{ready}/{len(running)}" if running else None,
        nodes=", ".join(sorted({spec.node for spec in specs_of(state, record.query)})) or None,
        revision=record.revision or None,
        headroom=finite(state.numbers.get(record.query, {}).get("headroom")),
    )


def numbers(state: RoundState) -> bool:
    """Whether it is time to write numbers that changed."""
    return state.settings.first_round_of(state.settings.status_period, state.snapshot.now)


def assess(state: RoundState) -> None:
    """Events about processes that are not on their planned node, have failed, or skipped rows."""
    for group in state.desired.groups:
        for name in group.queries:
            with state.guard(name):
                for spec in specs_of(state, name):
                    state.events += _process_events(state, name, spec.name)


def _process_events(state: RoundState, query: str, fragment: str) -> Iterator[Event]:
    owner = state.steps[fragment].owner
    if owner and (text := _elsewhere(owner)):
        yield Event(query, "OffItsPin", f"{fragment} {text}", warning=True)
    if owner and owner.state == "failed":
        text = f"{fragment} failed; restarting it (start {owner.restarts + 2}): {owner.message}"
        yield Event(query, "FragmentFailed", text, warning=True)
    if fragment in state.snapshot.metrics:
        yield from _source_events(query, state.snapshot.metrics[fragment])


def _source_events(query: str, reading: FragmentMetrics) -> Iterator[Event]:
    """About rows that a fragment has skipped, and partitions for which it does not wait."""
    if reading.lost_rows:
        rows = _count(reading.lost_rows, "row")
        text = f"{reading.fragment} skipped {rows} that the source deleted before they were read"
        yield Event(query, "RowsLost", text, warning=True)
    if reading.idle_partitions:
        partitions = _count(reading.idle_partitions, "idle partition")
        text = f"{reading.fragment}: the event-time clock does not wait for {partitions}"
        yield Event(query, "PartitionIdle", text)


def _count(number: float, noun: str) -> str:
    return f"{number:.0f} {noun}" + ("" if number == 1 else "s")


def _health(state: RoundState, name: str, desired: DesiredQuery, mode: str) -> Health:
    record = state.records[name]
    if desired.suspended:
        return Health.current("Suspended", "suspended: nothing runs, and checkpoints are kept")
    if name in state.refusals:
        reason = "PlanningFailed" if name in state.failed else "Rejected"
        return Health.failed(reason, state.refusals[name], ready=bool(specs_of(state, name)))
    specs = specs_of(state, name)
    if record.leaving and record.since is None:
        text = f"{record.leaving[-1].name} runs until the cut, whose time it has not set yet"
        return Health.in_progress("Changing", text, moving=True)
    if not specs:
        reason = "Proposed" if record.status.get("proposed") else "Planning"
        return Health.in_progress(reason, f"no plan in force yet (mode {mode})")
    steps = {s.name: state.steps[s.name] for s in specs}
    moving = sorted(f for f, s in steps.items() if s.phase == "moving")
    serving = [
        s.name
        for s in specs
        if (o := steps[s.name].owner) and o.state in ("running", "finished") and not _elsewhere(o)
    ]
    if len(serving) == len(specs):
        if record.leaving:
            text = f"{record.leaving[-1].name} is still publishing rows up to the cut"
            return Health.current("Changing", text, moving=True)
        nodes = len({s.node for s in specs})
        text = f"{_count(len(specs), 'fragment')} running on {_count(nodes, 'node')}"
        if moving:
            return Health.current("Moving", f"moving {', '.join(moving)}", moving=True)
        return Health.current("Running", text)
    late = sorted(set(steps) - set(serving))
    text = "; ".join(f"{f} {_state(steps[f])}" for f in late)
    was_ready = any(
        c["type"] == "Ready" and c["status"] == "True"
        for c in state.desired.statuses.get(name, {}).get("conditions", [])
    )
    if moving and was_ready and set(late) <= set(moving):
        return Health.current("Moving", f"moving {', '.join(moving)}", moving=True)
    return Health.in_progress("FragmentsNotReady", text, moving=bool(moving))


def _state(step: FragmentStep) -> str:
    """The state of a fragment that does not serve, and why if that is known."""
    if step.owner is None:
        return f"is {step.phase}"
    if step.owner.state in ("running", "finished"):
        return _elsewhere(step.owner)
    lines = step.owner.message.strip().splitlines()
    return f"is {step.owner.state}" + (f" ({lines[-1][:300]})" if lines else "")


def _elsewhere(owner: Process) -> str:
    """Where a process runs, if that is not its planned node; a pin may be ignored silently."""
    if not owner.node or owner.node == (owner.planned_node or owner.node):
        return ""
    return f"runs on {owner.node}, not on {owner.planned_node}"


def _fault(state: RoundState, name: str, fault: Fault) -> Health:
    age = state.snapshot.now - state.desired.created.get(name, state.snapshot.now)
    if not fault.missing:
        return Health.failed("Invalid", fault.message)
    waits = age < state.settings.reference_grace
    return (Health.in_progress if waits else Health.failed)("ReferenceNotFound", fault.message)


def statuses(state: RoundState) -> list[WriteStatus]:
    """Every status that says something new."""
    result: list[WriteStatus] = []
    for group in state.desired.groups:
        for name, desired in group.queries.items():
            if name in state.desired.faults:
                continue
            with state.guard(name):
                health = _health(state, name, desired, group.policy.mode)
                result += _status(state, name, health, desired.generation, _figures(state, name))
    for name, fault in state.desired.faults.items():
        with state.guard(name):
            result += _status(state, name, _fault(state, name, fault), fault.generation, {})
    return result + definition_statuses(state, numbers(state))


def _figures(state: RoundState, name: str) -> dict[str, Any]:
    specs, figures = specs_of(state, name), state.numbers.get(name, {})
    ready = sum(state.steps[s.name].phase in ("running", "finished") for s in specs)
    return {
        "headroom": finite(figures.get("headroom")),
        "latencySeconds": short(figures.get("latency")),
        "binding": _binding(state, name),
        "fragments": len(specs) or None,
        "readyFragments": ready if specs else None,
        "nodes": ", ".join(sorted({s.node for s in specs})) or None,
        "revision": state.records[name].revision or None,
    }


def _binding(state: RoundState, name: str) -> str | None:
    """What limits the headroom; written as rarely as numbers, as noise decides where several almost do."""
    status = state.desired.statuses.get(name, {})
    if (
        not numbers(state)
        and status.get("binding")
        and status.get("revision") == state.records[name].revision
    ):
        return str(status["binding"])
    return state.numbers.get(name, {}).get("binding") or None


def _status(
    state: RoundState, name: str, health: Health, generation: int, extra: Mapping[str, Any]
) -> list[WriteStatus]:
    present: Mapping[str, Any] = state.desired.statuses.get(name, {})
    described = conditions(health, generation, state.snapshot.now, present.get("conditions") or [])
    status = {
        "observedGeneration": generation,
        "conditions": described,
        **{k: v for k, v in extra.items() if v is not None},
    }
    status = fit("StreamQuery", "status", status)
    if not worth_writing(present, status, numbers(state)):
        return []
    namespace, short = name.split("/", 1)
    return [WriteStatus("StreamQuery", namespace, short, status)]
