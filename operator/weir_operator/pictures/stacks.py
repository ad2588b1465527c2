"""Cards above each other, and where arrows begin and end in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weir_operator.pictures.cards import Line, LineRole, card_lines
from weir_operator.pictures.content import FlowContent, NodeContent
from weir_operator.pictures.routes import Levels, Port, Route
from weir_operator.pictures.shapes import LINE

STACK = 42  # lines of text of the cards above each other, more than one aside
HEAD = 3  # lines above the first that has a port: the name, the bars, the rims


@dataclass(frozen=True)
class Stack:
    """Nodes of one zone above each other, with the line, from the top of their row, at which each begins."""

    zone: str
    nodes: tuple[tuple[NodeContent, tuple[Line, ...], int], ...]
    height: int  # lines of text


def port_offset(line: int) -> float:
    """How far the middle of a line lies below the upper edge of its card."""
    return (HEAD + line) * LINE


def card_height(lines: Sequence[Line]) -> int:
    """In lines of text."""
    return HEAD + len(lines)


def stacks_of(zone: str, nodes: Sequence[NodeContent], flows: Sequence[FlowContent]) -> list[Stack]:
    """The nodes of a zone above each other, as long as there is room."""
    stacks: list[Stack] = []
    for node in nodes:
        lines = card_lines(node, flows)
        if stacks and stacks[-1].height + card_height(lines) <= STACK:
            last = stacks.pop()
            begin, before = last.height, last.nodes
        else:
            begin, before = 2, ()  # below the zone's name
        nodes_here = (*before, (node, lines, begin))
        stacks.append(Stack(zone, nodes_here, begin + card_height(lines) + 1))
    return stacks


def ends(
    flows: Sequence[FlowContent], rows: Sequence[Sequence[Stack]]
) -> tuple[list[FlowContent], list[tuple[Port, Port]]]:
    """The flows between nodes that have cards, and the ports where each leaves and arrives."""
    ports: dict[tuple[LineRole, str, str], Port] = {}
    for r, row in enumerate(rows):
        for column, stack in enumerate(row):
            for _, lines, begin in stack.nodes:
                for i, line in enumerate(lines):
                    if line.flow and line.role in ("arrives", "leaves"):
                        key = (line.role, line.flow.source, line.flow.target)
                        ports[key] = Port(column, r, begin * LINE + port_offset(i))
    drawn, ends = [], []
    for flow in sorted(flows, key=lambda flow: (flow.source, flow.target)):
        start = ports.get(("leaves", flow.source, flow.target))
        end = ports.get(("arrives", flow.source, flow.target))
        if start and end:
            drawn.append(flow)
            ends.append((start, end))
    return drawn, ends


def uncrossed(
    rows: Sequence[Sequence[Stack]], flows: Sequence[FlowContent], routes: Sequence[Route], levels: Levels
) -> list[list[Stack]]:
    """The same rows, with the lines of each card's flows in the order of where their routes lead, so that
    these need not cross beside the card. `flows` are those of the `routes`."""
    leads: dict[tuple[bool, str, str], float] = {}  # (at its beginning, source, target) -> y
    for flow, route in zip(flows, routes, strict=True):
        falls = route.falls(levels)
        leads[True, flow.source, flow.target] = falls[0][2]
        leads[False, flow.source, flow.target] = falls[-1][1]

    def place(line: Line) -> tuple[int, float]:
        if not line.flow:
            return 1, 0.0
        leaves = line.role == "leaves"
        return 2 if leaves else 0, leads.get((leaves, line.flow.source, line.flow.target), 0.0)

    return [
        [
            replace(
                stack, nodes=tuple((n, tuple(sorted(lines, key=place)), y) for n, lines, y in stack.nodes)
            )
            for stack in row
        ]
        for row in rows
    ]
