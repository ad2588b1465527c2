"""Where everything goes: zones in rows in the direction of the data, nodes as cards in them, arrows between.

Lengths are in points, y grows downwards. Everything stands on a grid of lines of text, so that lines that
enter a gutter from both sides never lie on each other (`routes.ASIDE`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from typing import Any

from weir_operator.pictures.cards import Line
from weir_operator.pictures.content import Content, FlowContent, NodeContent
from weir_operator.pictures.routes import (
    PAD,
    PITCH,
    CardSide,
    Levels,
    Route,
    aisle_tracks,
    choose,
    gutter_tracks,
)
from weir_operator.pictures.shapes import LINE, MARGIN, SHEET, Box, Point
from weir_operator.pictures.stacks import Stack, card_height, ends, port_offset, stacks_of, uncrossed

MAX_COLUMNS, NARROWEST, WIDEST = 4, 140.0, 215.0  # columns of cards, and how wide these are
LEAST = 480.0  # width of a scene with few columns
FRAME = 9.0  # between a card and the frame of its zone


@dataclass(frozen=True)
class Card:
    """A node, its place, and its lines; the first stands HEAD lines below the upper edge."""

    node: NodeContent
    lines: tuple[Line, ...]
    box: Box

    def middle(self, line: int) -> float:
        """The y of the middle of a line."""
        return self.box.y + port_offset(line)


@dataclass(frozen=True)
class Arrow:
    """A flow, the corners of its way, and the sides of the cards at which it leaves and arrives."""

    flow: FlowContent
    points: tuple[Point, ...]
    leaves: CardSide
    arrives: CardSide


@dataclass(frozen=True)
class Zone:
    """The frame of a zone in one row; `idle` are names of nodes on which nothing runs."""

    name: str
    box: Box
    idle: tuple[str, ...]


@dataclass(frozen=True)
class Scene:
    """A laid-out picture without its titles, which stand above y = 0; `idle` are the nodes of zones in which
    nothing runs at all."""

    width: float
    height: float
    zones: tuple[Zone, ...]
    cards: tuple[Card, ...]
    arrows: tuple[Arrow, ...]
    idle: Mapping[str, tuple[str, ...]]


def lay_out(content: Content) -> Scene:
    """Cards in as many columns as have room, and the arrows between them.

    O(flows^2 x rows + nodes log nodes).
    """
    depth = _depths(content)
    passed = {name for flow in content.flows for name in (flow.source, flow.target)}
    busy: dict[str, list[NodeContent]] = {}
    idle: dict[str, tuple[str, ...]] = {}
    for node in sorted(content.nodes, key=lambda node: (depth[node.name], node.name)):
        if not node.idle or node.name in passed:
            busy.setdefault(node.zone, []).append(node)
        else:
            idle[node.zone] = (*idle.get(node.zone, ()), node.name)
    order = sorted(busy, key=lambda zone: (sum(depth[n.name] for n in busy[zone]) / len(busy[zone]), zone))
    stacks = [stack for zone in order for stack in stacks_of(zone, busy[zone], content.flows)]
    rows = max(1, ceil(len(stacks) / MAX_COLUMNS))
    columns = max(1, ceil(len(stacks) / rows))
    while (scene := _arranged(content.flows, stacks, idle, columns)) is None:
        columns -= 1
    return scene


def _depths(content: Content) -> dict[str, int]:
    """How far down the data each node lies: the longest way from an entry, cycles cut."""
    depth = {node.name: 0 for node in content.nodes}
    for _ in range(len(depth)):
        changed = False
        for flow in content.flows:
            below = depth.get(flow.source, 0) + 1
            if depth.get(flow.target, below) < below <= len(depth):
                depth[flow.target] = below
                changed = True
        if not changed:
            break
    return depth


def _arranged(
    flows: Sequence[FlowContent],
    stacks: Sequence[Stack],
    idle: Mapping[str, tuple[str, ...]],
    columns: int,
) -> Scene | None:
    """The scene with so many columns; None if its cards would be too narrow, unless there is one column."""
    rows = [list(stacks[i : i + columns]) for i in range(0, len(stacks), columns)]
    last = {stack.zone: r for r, row in enumerate(rows) for stack in row}  # row of each zone's last frame
    heights = [
        max(stack.height + (stack.zone in idle and last[stack.zone] == r) for stack in row)
        for r, row in enumerate(rows)
    ]
    drawn, ports = ends(flows, rows)
    about = _levels(heights, [1] * (len(rows) + 1))[0]
    routes = choose(ports, SHEET / columns, about)
    rows = uncrossed(rows, drawn, routes, about)
    _, ports = ends(flows, rows)
    routes = [replace(route, start=start, end=end) for route, (start, end) in zip(routes, ports, strict=True)]
    in_aisle = [aisle_tracks(routes, aisle) for aisle in range(len(rows) + 1)]
    levels, bottom = _levels(heights, [_count(taken) for taken in in_aisle])
    aisle_of = [
        0.0 if route.aisle is None else levels.aisles[route.aisle] + PITCH * in_aisle[route.aisle][i]
        for i, route in enumerate(routes)
    ]
    in_gutter = [gutter_tracks(routes, gutter, levels, aisle_of) for gutter in range(columns + 1)]
    gutters = [2 * FRAME + PAD + (PAD + PITCH * (_count(taken) - 1)) * bool(taken) for taken in in_gutter]
    room = (SHEET - 2 * MARGIN + 2 * FRAME - sum(gutters)) / columns
    if room < NARROWEST and columns > 1:
        return None
    width = max(NARROWEST, min(room, WIDEST))
    begins = [MARGIN - FRAME + sum(gutters[:g]) + g * width for g in range(columns + 1)]  # of gutters
    left = [begin + gutter for begin, gutter in zip(begins, gutters, strict=True)][:columns]  # of columns
    arrows = []
    for i, (flow, route) in enumerate(zip(drawn, routes, strict=True)):
        xs = [
            begins[gutter] + FRAME + PAD + PITCH * in_gutter[gutter][i, is_last]
            for gutter, is_last in zip(route.gutters, (route.aisle is None, True), strict=True)
        ]
        points = _points(route, levels, left, width, xs, aisle_of[i])
        arrows.append(Arrow(flow, points, route.leaves, route.arrives))
    cards = _cards(rows, levels, left, width)
    zones = _zones(
        rows, {zone: (last[zone], names) for zone, names in idle.items() if zone in last}, levels, left, width
    )
    alone = {zone: names for zone, names in idle.items() if zone not in last}
    right = begins[-1] + gutters[-1] + MARGIN - FRAME
    return Scene(max(right, LEAST), bottom, tuple(zones), tuple(cards), tuple(arrows), alone)


def _count(taken: Mapping[Any, int]) -> int:
    """How many tracks there are."""
    return max(taken.values(), default=-1) + 1


def _levels(heights: Sequence[int], aisles: Sequence[int]) -> tuple[Levels, float]:
    """The levels of rows of so many lines of text, with so many tracks in the aisles; and where they end."""
    y, row_at, aisle_at = 0.0, [], []
    for r, count in enumerate(aisles):
        aisle_at.append(y + PAD)
        least = LINE if 0 < r < len(heights) else 0.0
        y += max(least, 2 * PAD + PITCH * (count - 1) if count else 0.0)
        if r < len(heights):
            y = ceil(y / LINE) * LINE
            row_at.append(y)
            y += heights[r] * LINE
    return Levels(tuple(row_at), tuple(aisle_at)), y


def _points(
    route: Route, levels: Levels, left: Sequence[float], width: float, xs: Sequence[float], aisle: float
) -> tuple[Point, ...]:
    """The corners of a way: out of a card, down or up, along the aisle if there is one, into a card."""
    begin = (
        left[route.start.column] + width * (route.leaves == "right"),
        route.start.y(route.leaves, levels),
    )
    end = (left[route.end.column] + width * (route.arrives == "right"), route.end.y(route.arrives, levels))
    between = [] if route.aisle is None else [(xs[0], aisle), (xs[1], aisle)]
    return (begin, (xs[0], begin[1]), *between, (xs[1], end[1]), end)


def _cards(
    rows: Sequence[Sequence[Stack]], levels: Levels, left: Sequence[float], width: float
) -> Iterator[Card]:
    for y, row in zip(levels.rows, rows, strict=True):
        for x, stack in zip(left, row, strict=False):
            for node, lines, begin in stack.nodes:
                yield Card(node, lines, Box(x, y + begin * LINE, width, card_height(lines) * LINE))


def _zones(
    rows: Sequence[Sequence[Stack]],
    idle: Mapping[str, tuple[int, tuple[str, ...]]],
    levels: Levels,
    left: Sequence[float],
    width: float,
) -> Iterator[Zone]:
    """A frame around the stacks of a zone in a row; `idle`: zone -> the row of its idle nodes, and these."""
    for r, row in enumerate(rows):
        for zone, group in groupby(enumerate(row), key=lambda item: item[1].zone):
            members = list(group)
            x, right = left[members[0][0]] - FRAME, left[members[-1][0]] + width + FRAME
            at, names = idle.get(zone, (-1, ()))
            names = names if at == r else ()
            height = max(stack.height for _, stack in members) + bool(names)
            yield Zone(zone, Box(x, levels.rows[r], right - x, height * LINE), names)
