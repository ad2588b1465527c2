"""`weir explain QUERY`: how it is, where it is, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from weir_operator.cli.columns import TableColumn, console, table
from weir_operator.cli.table import times
from weir_operator.controller.repeats import RepeatedDecision, read_line


def print_why(store: Any, name: str, placement: Mapping[str, Any] | None) -> bool:
    """Of a query (namespace/name) in a RunStore or ClusterStore, with its Placement if it has one; false:
    there is none of this name."""
    out, status = console(), dict(store.queries()).get(name)
    if placement is None and status is None:
        return False
    spec, current = (placement["spec"], placement["status"]) if placement else ({}, {})
    figures = _figures(spec, status or {})
    out.print(Text(f"{name}: {figures}", style="bold"), soft_wrap=True)
    for condition in (status or {}).get("conditions") or ():
        if condition["status"] == "True" or condition["type"] == "Ready":
            text = f"{condition['reason']}: {condition.get('message', '')}"
            out.print(Text(f"{condition['type']} {condition['status']}, {text}"))
    _print_operators(out, spec)
    if proposed := current.get("proposed"):
        out.print(Text(f"proposed: plan {proposed.get('hash')}, {proposed['reason']}"))
        out.print(Text(proposed["diff"]))
    out.print("decisions, newest first (UTC):")
    for line in current.get("decisions") or ():
        decision = read_line(line)
        out.print(Padding(Text(f"{_when(decision)}: {decision.words}"), (0, 0, 0, 2), expand=False))
    if not current.get("decisions"):
        out.print("  none yet")
    return True


def _figures(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    if not spec.get("revision"):
        return "no plan in force"
    parts = [f"revision {spec['revision']}"]
    if spec.get("pinned") is not None:
        parts.append(f"kept at revision {spec['pinned']} by `weir rollback`")
    if (headroom := status.get("headroom")) is not None:
        parts.append(f"headroom {times(headroom)}")
    if binding := status.get("binding"):
        parts.append(f"binding: {binding}")
    return ", ".join(parts)


def _print_operators(out: Console, spec: Mapping[str, Any]) -> None:
    columns = (
        TableColumn("OPERATOR"),
        TableColumn("KIND"),
        TableColumn("READS", wraps=True),
        TableColumn("NODE"),
    )
    operators = spec.get("operators") or []
    rows = [(op["id"], op["kind"], ", ".join(op["inputs"]), op["node"]) for op in operators]
    if rows:
        out.print(table(columns, rows, out.width))


def _when(decision: RepeatedDecision) -> str:
    """`2026-01-31 12:00:05`, or with how often, and from when to when.

    >>> _when(read_line("2026-01-31T12:00:09Z stay: full (4 times since 2026-01-31T12:00:00Z)"))
    '2026-01-31 12:00:00 to 12:00:09, 4 times'
    """
    first, last = (time.rstrip("Z").replace("T", " ") for time in (decision.first, decision.last))
    if decision.count == 1:
        return last
    same_day = first.split(" ")[0] == last.split(" ")[0]
    return f"{first} to {last.split(' ')[1] if same_day else last}, {decision.count} times"
