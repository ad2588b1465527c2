"""Where everything goes: zones as columns in the direction of the data, nodes as cards in them.

Lengths are in points, y grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from weir_operator.pictures.content import Content, FlowContent, NodeContent, quantity

Point: TypeAlias = tuple[float, float]

LINE = 15.0  # height of a line of text
CHARACTER = 5.6  # width of a character at the size of the text
PAD = 10.0
CARD_WIDTH = 190.0
CARD_GAP = 34.0
ZONE_GAP = 150.0
ZONE_PAD = 22.0
TOP = 74.0
MAX_OPERATORS = 7
SHIFTS = (0.0, *(sign * 14.0 * k for k in range(1, 9) for sign in (-1, 1)))  # of a label beside its line


@dataclass(frozen=True)
class Box:
    """A rectangle with its upper left corner at (x, y)."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box, margin: float = 0.0) -> bool:
        """Whether the two share any point, `margin` around this one included."""
        return (
            self.x - margin < other.x + other.width
            and other.x < self.x + self.width + margin
            and self.y - margin < other.y + other.height
            and other.y < self.y + self.height + margin
        )


@dataclass(frozen=True)
class Card:
    """A node and its place."""

    node: NodeContent
    box: Box


@dataclass(frozen=True)
class Arrow:
    """A flow: a chain of cubic Bezier curves (every third point is on it), and the box of its label."""

    flow: FlowContent
    points: tuple[Point, ...]
    label: Box


@dataclass(frozen=True)
class Zone:
    """A zone's frame; `idle` are names of nodes on which nothing runs."""

    name: str
    box: Box
    idle: tuple[str, ...]


@dataclass(frozen=True)
class Scene:
    """A laid-out picture."""

    width: float
    height: float
    zones: tuple[Zone, ...]
    cards: tuple[Card, ...]
    arrows: tuple[Arrow, ...]


def fragment_lines(node: NodeContent) -> list[tuple[str, list[str]]]:
    """For each fragment its query's short name and its operators' lines."""
    result = []
    for fragment in node.fragments:
        lines = [f"{kind} {name}" for kind, name in fragment.operators]
        if len(lines) > MAX_OPERATORS:
            lines = [*lines[: MAX_OPERATORS - 1], f"... {len(lines) - MAX_OPERATORS + 1} more"]
        result.append((fragment.query.rsplit("/", 1)[-1], lines))
    return result


def card_height(node: NodeContent) -> float:
    """Header with two bars, one line for what enters and what leaves, a box for each fragment."""
    fragments = sum(LINE * (1 + len(lines)) + 14 for _, lines in fragment_lines(node))
    return 46 + LINE * (len(node.sources) + len(node.deliveries)) + fragments + PAD


def lay_out(content: Content, width: float = 0.0) -> Scene:
    """Cards in columns, arrows between them, labels where they cover nothing.

    Idle nodes take one line of their zone. O(cards + flows^2 + flows x cards).
    """
    depth = _depths(content)
    zones: dict[str, list[NodeContent]] = {}
    for node in content.nodes:
        zones.setdefault(node.zone, []).append(node)
    order = sorted(zones, key=lambda zone: (_mean([depth[n.name] for n in zones[zone] if not n.idle]), zone))
    cards: list[Card] = []
    frames: list[Zone] = []
    x = ZONE_GAP / 2
    for zone in order:
        busy = sorted((n for n in zones[zone] if not n.idle), key=lambda n: (depth[n.name], n.name))
        idle = tuple(sorted(n.name for n in zones[zone] if n.idle))
        y = TOP + ZONE_PAD + LINE
        for node in busy:
            height = card_height(node)
            cards.append(Card(node, Box(x, y, CARD_WIDTH, height)))
            y += height + CARD_GAP
        y -= CARD_GAP if busy else 0.0
        bottom = y + (LINE * (1 + -(-len(idle) // 2)) if idle else 0.0) + ZONE_PAD
        frames.append(Zone(zone, Box(x - ZONE_PAD, TOP, CARD_WIDTH + 2 * ZONE_PAD, bottom - TOP), idle))
        x += CARD_WIDTH + ZONE_GAP
    floor = max((z.box.y + z.box.height for z in frames), default=TOP)
    frames = [Zone(z.name, Box(z.box.x, z.box.y, z.box.width, floor - TOP), z.idle) for z in frames]
    full = max(x - ZONE_GAP / 2, width, 620.0)
    return Scene(full, floor + 24.0, tuple(frames), tuple(cards), _arrows(content, cards))


def _depths(content: Content) -> dict[str, float]:
    """How far down the data each node lies: the longest way from an entry, cycles cut."""
    depth = {node.name: 0.0 for node in content.nodes}
    for _ in range(len(depth)):
        changed = False
        for flow in content.flows:
            below = depth.get(flow.source, 0.0) + 1
            if depth.get(flow.target, below) < below <= len(depth):
                depth[flow.target] = below
                changed = True
        if not changed:
            break
    return depth


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 1e9


def _arrows(content: Content, cards: list[Card]) -> tuple[Arrow, ...]:
    place = {card.node.name: card.box for card in cards}
    arrows: list[Arrow] = []
    leaving: dict[str, int] = {}
    entering: dict[str, int] = {}
    channels: dict[tuple[float, float], int] = {}
    for flow in sorted(content.flows, key=lambda f: (f.source, f.target)):
        if flow.source not in place or flow.target not in place:
            continue
        out, into = leaving.get(flow.source, 0), entering.get(flow.target, 0)
        leaving[flow.source], entering[flow.target] = out + 1, into + 1
        points = _curve(place[flow.source], place[flow.target], out, into, list(place.values()), channels)
        occupied = [card.box for card in cards] + [arrow.label for arrow in arrows]
        arrows.append(Arrow(flow, points, _label(flow, points, occupied)))
    return tuple(arrows)


def _curve(
    a: Box, b: Box, out: int, into: int, boxes: list[Box], channels: dict[tuple[float, float], int]
) -> tuple[Point, ...]:
    """From the side of `a` that faces `b` to the side of `b` that faces `a`, between the cards of the
    columns on the way; a bow beside one column."""
    ya = a.y + min(24.0 + 16.0 * out, a.height - 8)
    yb = b.y + min(32.0 + 16.0 * into, b.height - 8)
    if abs(a.x - b.x) < 1:
        side = a.x + a.width
        bow = min(46.0 + 10.0 * (out + into), ZONE_GAP)  # a curve reaches 3/4 of its bow: not the next column
        return ((side, ya), (side + bow, ya), (side + bow, yb), (side, yb))
    forward = a.x < b.x
    stops: list[Point] = [(a.x + a.width, ya) if forward else (a.x, ya)]
    low, high = sorted((a.x, b.x))
    for x in sorted({box.x for box in boxes if low < box.x < high}, reverse=not forward):
        straight = ya + (yb - ya) * (x - a.x) / (b.x - a.x)
        y = _channel([box for box in boxes if box.x == x], straight, channels)
        edges = [(x - ZONE_PAD / 2, y), (x + CARD_WIDTH + ZONE_PAD / 2, y)]
        stops += edges if forward else reversed(edges)
    stops.append((b.x, yb) if forward else (b.x + b.width, yb))
    points = [stops[0]]
    for (xa, y0), (xb, y1) in pairwise(stops):
        pull = (xb - xa) * 0.45
        points += [(xa + pull, y0), (xb - pull, y1), (xb, y1)]
    return tuple(points)


def _channel(column: list[Box], straight: float, channels: dict[tuple[float, float], int]) -> float:
    """The height nearest to `straight` at which a line passes a column; lines in one gap lie apart."""
    column = sorted(column, key=lambda box: box.y)
    above = column[0].y - 6.0
    y = min([above] + [box.y + box.height + 9.0 for box in column], key=lambda gap: abs(gap - straight))
    key = (column[0].x, y)
    channels[key] = channels.get(key, -1) + 1
    step = -4.0 if y == above else 7.0  # away from the first card, not into it
    return y + step * (channels[key] % 4)


def bezier(points: tuple[Point, ...], t: float) -> Point:
    """The point at `t` (0 to 1) of a chain of cubic Bezier curves."""
    pieces = (len(points) - 1) // 3
    piece = min(int(t * pieces), pieces - 1)
    t = t * pieces - piece
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    four = points[3 * piece : 3 * piece + 4]
    return (
        sum(w * p[0] for w, p in zip(weights, four, strict=True)),
        sum(w * p[1] for w, p in zip(weights, four, strict=True)),
    )


def label_lines(flow: FlowContent) -> list[str]:
    """The rate, then up to two streams' names."""
    names = list(flow.streams[:2]) + ([f"+ {len(flow.streams) - 2} more"] if len(flow.streams) > 2 else [])
    return [f"{quantity(flow.bytes_per_second)}B/s", *map(_short, names)]


def _short(name: str) -> str:
    """At most 18 letters, of `query/operator` rather the operator's."""
    if len(name) <= 18:
        return name
    query, _, operator = name.rpartition("/")
    operator = operator if len(operator) <= 13 else operator[:12] + "…"
    return f"{query[: 16 - len(operator)]}…/{operator}" if query else f"{name[:17]}…"


def _label(flow: FlowContent, points: tuple[Point, ...], occupied: list[Box]) -> Box:
    """The first place on the curve where the label covers nothing; else the one that covers least."""
    lines = label_lines(flow)
    width = max(len(line) for line in lines) * CHARACTER + 8
    height = len(lines) * (LINE - 3) + 4
    best, fewest = Box(0, 0, width, height), len(occupied) + 1
    pieces = (len(points) - 1) // 3
    for t in (k / pieces for k in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)):  # on the first piece
        x, y = bezier(points, t)
        for shift in SHIFTS:
            box = Box(x - width / 2, y - height / 2 + shift, width, height)
            covered = sum(box.overlaps(other, 3.0) for other in occupied)
            if covered < fewest:
                best, fewest = box, covered
            if not covered:
                return best
    return best
