"""What a card says of its node, line by line.

A flow has a line at both of its ends: where it arrives its rate and streams, where it leaves its target. Its
arrow begins and ends at these lines, so that no label lies on an arrow, and none can be taken for another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from weir_operator.pictures.content import FlowContent, FragmentContent, NodeContent, quantity

MAX_OPERATORS = 7

LineRole: TypeAlias = Literal[
    "arrives", "streams", "enters", "query", "note", "operator", "delivers", "leaves"
]


@dataclass(frozen=True)
class Line:
    """One line of a card; `flow` where an arrow begins or ends, `fragment` where the line is part of one."""

    role: LineRole
    words: str
    flow: FlowContent | None = None
    fragment: FragmentContent | None = None
    emphasis: bool = False


def card_lines(node: NodeContent, flows: Sequence[FlowContent]) -> tuple[Line, ...]:
    """What arrives, enters, runs, is delivered and leaves, in this order."""
    lines: list[Line] = []
    for flow in sorted((f for f in flows if f.target == node.name), key=lambda f: f.source):
        origin, long = f"from {flow.source}", flow.binds or flow.change != "same"
        lines.append(Line("arrives", rate(flow) if long else f"{rate(flow)} {origin}", flow, emphasis=long))
        lines.append(Line("streams", f"{origin}: {_streams(flow)}" if long else _streams(flow), flow))
    lines += [Line("enters", f"enters: {name}") for name in node.sources]
    for fragment in node.fragments:
        lines += _fragment(fragment)
    lines += [Line("delivers", f"delivers: {name}") for name in node.deliveries]
    for flow in sorted((f for f in flows if f.source == node.name), key=lambda f: f.target):
        lines.append(Line("leaves", f"to {flow.target}", flow))
    return tuple(lines)


def rate(flow: FlowContent) -> str:
    """A flow's rate; of one that has changed, also what it was."""
    now, was = f"{quantity(flow.bytes_per_second)}B/s", f"{quantity(flow.was or 0.0)}B/s"
    binds = "binds: " if flow.binds else ""
    if flow.change == "rate":
        return f"{binds}{now} (was {was})"
    if flow.change == "new":
        return f"{binds}new: {now}"
    return f"gone: {was}" if flow.change == "gone" else f"{binds}{now}"


def _streams(flow: FlowContent) -> str:
    """Up to two streams' names."""
    more = len(flow.streams) - 2
    return ", ".join(flow.streams[:2]) + (f" and {more} more" if more > 0 else "")


def _fragment(fragment: FragmentContent) -> list[Line]:
    changed = fragment.change != "same"
    lines = [Line("query", fragment.query.rsplit("/", 1)[-1], fragment=fragment)]
    if fragment.note:
        lines.append(Line("note", fragment.note, fragment=fragment, emphasis=True))
    operators = [
        Line(
            "operator",
            f"{_sign(fragment, name)}{kind} {name}",
            fragment=fragment,
            emphasis=changed and name in fragment.moved,
        )
        for kind, name in fragment.operators
    ]
    if len(operators) > MAX_OPERATORS:
        more = len(operators) - MAX_OPERATORS + 1
        operators[MAX_OPERATORS - 1 :] = [Line("operator", f"and {more} more", fragment=fragment)]
    return lines + operators


def _sign(fragment: FragmentContent, operator: str) -> str:
    if operator not in fragment.moved:
        return ""
    return "− " if fragment.change == "gone" else "+ "
