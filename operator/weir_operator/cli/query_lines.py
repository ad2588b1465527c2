"""What there is to say of each query of a run or a cluster: `weir status`, and the end of `weir run`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weir_operator.controller.observed_state import Manifest

if TYPE_CHECKING:
    from weir_placement.model.fragment import Output

ALIVE = ("starting", "standby", "running")
States = Mapping[str, str]


@dataclass
class QueryLine:
    """What there is to say of one query; `notes` are whole sentences of the controller, and results."""

    query: str
    ready: str
    reason: str
    fragments: str = "-"
    headroom: str = "-"
    revision: str = "-"
    nodes: str = "-"
    notes: list[str] = field(default_factory=list)


def query_lines(store: Any, left: States | None = None) -> list[QueryLine]:
    """One for each query that is there, and for each that is deleted and kept. `left`: of fragments that
    nobody watches."""
    from weir_operator.controller.record import name_of

    placements = {name_of(placement): placement for placement in store.placements()}
    lines = [_retained(placement) for placement in placements.values() if placement["spec"].get("retained")]
    present = {name: p for name, p in placements.items() if not p["spec"].get("retained")}
    statuses = dict(store.queries())
    lines += [
        _line(name, statuses.get(name, {}), present.get(name), left) for name in {**present, **statuses}
    ]
    return sorted(lines, key=lambda line: line.query)


def _retained(placement: Manifest) -> QueryLine:
    retained = placement["spec"]["retained"]
    line = QueryLine(f"{placement['metadata']['namespace']}/{retained['query']}", "-", "Retained")
    line.notes.append(
        f"deleted {retained['deleted']}, retained until {retained['until']}: "
        f"restoreFrom.retained: {retained['uid']}"
    )
    return line


def _line(name: str, query_status: Manifest, placement: Manifest | None, left: States | None) -> QueryLine:
    from weir_operator.cli.table import times

    conditions = query_status.get("conditions") or []
    ready: Manifest = next((c for c in conditions if c["type"] == "Ready"), {})
    line = QueryLine(name, ready.get("status", "Unknown"), ready.get("reason", "New"))
    holding = [ready, *(c for c in conditions if c["status"] == "True")]
    line.notes += dict.fromkeys(
        c["message"] for c in holding if c.get("message") and c["reason"] != "Running"
    )
    if placement is None:
        return line
    current = placement["status"]
    line.fragments, line.nodes = current.get("ready") or "-", current.get("nodes") or "-"
    line.revision = str(placement["spec"].get("revision") or "-")
    if (headroom := query_status.get("headroom")) is not None:
        line.headroom = times(headroom)
    if proposed := current.get("proposed"):
        line.notes.append(f"plan {proposed.get('hash')} is proposed: {proposed['reason']}")
    fragments = [entry["name"] for entry in current.get("running") or []]
    if left is not None and fragments:
        _as_left(line, [left.get(fragment, "") for fragment in fragments])
    if line.reason == "Finished":
        line.notes += _results(placement)
    return line


def _as_left(line: QueryLine, states: list[str]) -> None:
    """What the controller wrote last may be true no more."""
    alive = sum(state in ALIVE for state in states)
    if all(state == "finished" for state in states):
        line.ready, line.reason, line.notes = "True", "Finished", []
    elif alive:
        line.reason, line.fragments = "Unattended", f"{alive}/{len(states)}"
        line.notes = ["its processes still run, but not `weir run`: start it again with this folder"]
    else:
        line.ready, line.reason, line.fragments = "False", "Stopped", f"0/{len(states)}"
        line.notes = ["its state is kept: `weir run` with this folder goes on from there"]


def _results(placement: Manifest) -> Iterator[str]:
    """Where the sinks are of the fragments that deliver."""
    from weir_operator.controller.record import read_record

    for output in dict.fromkeys(_place(spec.output) for spec in read_record(placement).specs):
        if output:
            yield f"results are in {output}"


def _place(output: Output) -> str:
    from weir_placement.model.location import FOLDER

    if output.kind == "files":
        return _shown(Path(output.uri)) if output.files.kind == FOLDER else output.uri
    if output.kind == "kafka":
        return f"topic {output.options['topic']} at {output.options['bootstrapServers']}"
    return "the logs of its last fragment" if output.kind == "console" else ""


def _shown(path: Path) -> str:
    """Relative where it is below this folder."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
