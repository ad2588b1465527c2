"""What a round reports: statuses of queries, running fragments in their Placements, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from weir_placement.model.amounts import count
from weir_placement.model.fragment import FragmentSpec

from weir_operator.api.fit import fit
from weir_operator.controller.conditions import Health, conditions, worth_writing
from weir_operator.controller.decision import Event, WriteStatus
from weir_operator.controller.definitions import definition_statuses, finite, short
from weir_operator.controller.health import fault_health, query_health
from weir_operator.controller.observed_state import FragmentMetrics
from weir_operator.controller.overdue import with_moves
from weir_operator.controller.progress import elsewhere, serves, with_progress
from weir_operator.controller.record import Record
from weir_operator.controller.rollout import REFUSED, refused_image
from weir_operator.controller.round_state import RoundState, specs_of
from weir_operator.controller.waiting import wait_of, waits


def fragments(specs: Iterable[FragmentSpec]) -> list[Mapping[str, Any]]:
    """The fragments of a Placement's spec."""
    return [
        {
            "name": spec.name,
            "node": spec.node,
            "hash": spec.name.rsplit("-", 1)[-1],
            "operators": [op.id for op in spec.operators],
        }
        for spec in specs
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
    record = with_moves(state, record, [name for name in names if name in state.steps])
    alive = set(state.processes) | set(state.observed.leases)
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


def track_progress(state: RoundState) -> None:
    """The clocks of all fragments that shall run, into the records."""
    for group in state.desired.groups:
        for name, desired in group.queries.items():
            if name in state.failed:
                continue
            with state.guard(name):
                steps = {spec.name: state.steps[spec.name] for spec in specs_of(state, name)}
                record = state.records[name]
                state.records[name] = with_progress(record, steps, desired.generation, state.observed.now)


def numbers(state: RoundState) -> bool:
    """Whether it is time to write numbers that changed."""
    return state.settings.first_round_of(state.settings.status_period, state.observed.now)


def assess(state: RoundState) -> None:
    """Events about processes that are not on their planned node, have failed, or skipped rows, also of a plan
    that is leaving."""
    for group in state.desired.groups:
        for name in group.queries:
            with state.guard(name):
                for spec in (*specs_of(state, name), *state.records[name].leaving):
                    if spec.name in state.steps:
                        state.events += _process_events(state, name, spec.name)


def _process_events(state: RoundState, query: str, fragment: str) -> Iterator[Event]:
    owner = state.steps[fragment].owner
    if text := elsewhere(state.steps[fragment]):
        yield Event(query, "OffItsPin", f"{fragment} {text}", warning=True)
    if owner and owner.state == "failed":
        text = f"{fragment} failed; restarting it (start {owner.restarts + 2}): {owner.message}"
        yield Event(query, "FragmentFailed", text, warning=True)
    if fragment in state.observed.metrics:
        yield from _source_events(query, state.observed.metrics[fragment])


def _source_events(query: str, reading: FragmentMetrics) -> Iterator[Event]:
    """About rows that a fragment has skipped, and what it waits for."""
    for number, what in ((reading.lost_rows, "row"), (reading.lost_files, "file")):
        if number:
            skipped = f"skipped {count(number, what)} that the source deleted before they were read"
            yield Event(query, "RowsLost", f"{reading.fragment} {skipped}", warning=True)
    for wait in waits(reading):
        yield Event(query, wait.reason, wait.message, warning=wait.warning)


def statuses(state: RoundState) -> list[WriteStatus]:
    """Every status that has changed; a query that becomes Stalled is also an event."""
    result: list[WriteStatus] = []
    for group in state.desired.groups:
        for name, desired in group.queries.items():
            if name in state.desired.faults:
                continue
            with state.guard(name):
                health = query_health(state, group, name, desired)
                result += _status(state, name, health, desired.generation, _figures(state, name))
    for name, fault in state.desired.faults.items():
        with state.guard(name):
            result += _status(state, name, fault_health(state, name, fault), fault.generation, {})
    return result + definition_statuses(state, numbers(state))


def _figures(state: RoundState, name: str) -> dict[str, Any]:
    specs, figures = specs_of(state, name), state.numbers.get(name, {})
    ready = sum(serves(state.steps[s.name]) for s in specs if s.name in state.steps)
    return {
        "headroom": finite(figures.get("headroom")),
        "latencySeconds": short(figures.get("latency")),
        "binding": _binding(state, name),
        "fragments": len(specs) or None,
        "readyFragments": ready if specs else None,
        "ready": f"{ready}/{len(specs)}" if specs else None,
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
    further = {
        "Waiting": None if health.stalled else wait_of(state, name),
        REFUSED: refused_image(state, name),
    }
    before = present.get("conditions") or []
    described = conditions(health, generation, state.observed.now, before, further)
    if health.stalled and name not in state.failed and _is_news(health, generation, present):
        state.events.append(Event(name, health.reason, health.message, warning=True))
    status = {
        "observedGeneration": generation,
        "conditions": described,
        **{k: v for k, v in extra.items() if v is not None},
    }
    if last := state.last_snapshots.get(name):
        status["lastSnapshot"] = last
    status = fit("StreamQuery", "status", status)
    if not worth_writing(present, status, numbers(state)):
        return []
    namespace, short = name.split("/", 1)
    return [WriteStatus("StreamQuery", namespace, short, status)]


def _is_news(health: Health, generation: int, present: Mapping[str, Any]) -> bool:
    """Whether a query was not Stalled for this reason before, or was edited since."""
    for condition in present.get("conditions") or []:
        if condition["type"] == "Stalled" and condition["status"] == "True":
            before = condition.get("reason"), condition.get("observedGeneration")
            return before != (health.reason, generation)
    return True
