"""A plan as a picture: nodes by zone, what runs on them, what flows between them, and what binds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from matplotlib.patches import Rectangle

from weir_operator.pictures.cards import Line, rate
from weir_operator.pictures.changes import compared
from weir_operator.pictures.content import Content, FlowContent, NodeContent, read
from weir_operator.pictures.layout import FRAME, Arrow, Card, Zone, lay_out
from weir_operator.pictures.pen import (
    BAR,
    BINDS,
    CARD,
    FAINT,
    FLOW,
    INK,
    PAPER,
    QUERIES,
    RIM,
    SINK,
    SOURCE,
    ZONE,
    ImageFormat,
    Pen,
    legend_height,
    legend_places,
    tint,
)
from weir_operator.pictures.routes import CardSide
from weir_operator.pictures.shapes import LINE, MARGIN, SMALL, TEXT, Box
from weir_operator.pictures.text import width, wrap
from weir_operator.planning.difference import PlanReport

PAD = 8.0  # between a card's edge and its words
TROUGH = "#dfe5ec"  # behind a bar
NAMES = 4  # idle nodes of a zone that are named, at most

Mark: TypeAlias = Literal["fragment", "flow", "share", "binds", "arrived", "left", "flowed"]


def picture(
    report: PlanReport,
    form: ImageFormat,
    zones: Mapping[str, str] | None = None,
    before: PlanReport | None = None,
    why: str = "",
) -> bytes:
    """The plan as a picture.

    Args:
        report: of the plan.
        form: of the file.
        zones: node name -> zone.
        before: an earlier plan's report; then what has changed since is shown too.
        why: it has changed.
    """
    content = read(report, zones) if before is None else compared(before, report, zones, why)
    return drawn(content).rendered(content, form)


def drawn(content: Content) -> Pen:
    """The content, drawn. O(nodes + flows^2)."""
    scene = lay_out(content)
    idle = wrap(_idle(scene.idle), scene.width - 2 * MARGIN, SMALL)
    legend = _legend(content)
    items = [words for _, words in legend]
    below = 8 + LINE * len(idle)
    height = scene.height + below + legend_height(items, scene.width) + MARGIN / 2
    pen = Pen(scene.width, height, content.title, content.subtitles)
    names = sorted({_short(f.query) for n in content.nodes for f in n.fragments})
    colours = {name: QUERIES[i % len(QUERIES)] for i, name in enumerate(names)}
    room = scene.cards[0].box.width if scene.cards else scene.width - 2 * MARGIN
    for zone in scene.zones:
        _zone(pen, zone, room)
    sides = {("leaves", arrow.flow): arrow.leaves for arrow in scene.arrows}
    sides |= {("arrives", arrow.flow): arrow.arrives for arrow in scene.arrows}
    for card in scene.cards:
        _card(pen, card, colours, sides)
    for arrow in scene.arrows:
        _arrow(pen, arrow, colours)
    for i, line in enumerate(idle):
        pen.text(MARGIN, scene.height + 8 + LINE * (i + 0.75), line, SMALL, color=FAINT)
    for (mark, words), (x, y) in zip(legend, legend_places(items, scene.width), strict=True):
        _mark(pen, mark, x - 20, scene.height + below + y)
        pen.text(x, scene.height + below + y + 3, words, SMALL, color=FAINT)
    return pen


def _short(query: str) -> str:
    return query.rsplit("/", 1)[-1]


def _idle(zones: Mapping[str, Sequence[str]]) -> str:
    """The idle nodes of zones in which nothing runs."""
    parts = []
    for zone, names in sorted(zones.items()):
        more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
        named = ", ".join(names[:NAMES]) + more
        parts.append(f"zone {zone}: {named}" if zone else named)
    return f"idle ({sum(map(len, zones.values()))}): " + " · ".join(parts) if parts else ""


def _zone(pen: Pen, zone: Zone, room: float) -> None:
    title = "\n".join([f"zone {zone.name}", *(f"idle: {name}" for name in zone.idle)])
    pen.box(zone.box, 8, title, facecolor=ZONE, edgecolor="#d5dde5", linewidth=0.8)
    inside = Box(zone.box.x + FRAME, zone.box.y, room, zone.box.height)
    pen.line(inside, zone.box.y + LINE, f"zone {zone.name}" if zone.name else "no zone", color=FAINT)
    if zone.idle:
        words = f"idle ({len(zone.idle)}): " + ", ".join(zone.idle)
        pen.line(inside, zone.box.bottom - 0.85 * LINE, words, size=SMALL, color=FAINT)


def _card(
    pen: Pen, card: Card, colours: Mapping[str, str], sides: Mapping[tuple[str, FlowContent], CardSide]
) -> None:
    node, box = card.node, card.box
    edge, thick = (BINDS, 1.8) if node.binds else (RIM, 1.0)
    pen.box(box, 6, _describe(node), facecolor=CARD, edgecolor=edge, linewidth=thick)
    inside = Box(box.x + PAD, box.y, box.width - 2 * PAD, box.height)
    if node.binds:
        pen.line(inside, box.y + LINE, "binds", "right", "bold", color=BINDS, size=SMALL)
    taken = width("binds  ", SMALL, "bold") if node.binds else 0.0
    pen.line(Box(inside.x, box.y, inside.width - taken, 0), box.y + LINE, node.name, weight="bold", size=10)
    half = (inside.width - PAD) / 2
    y = box.y + 2 * LINE
    _bar(pen, Box(inside.x, y, half, LINE), "cpu", node.cpu, node.was_cpu)
    _bar(pen, Box(inside.right - half, y, half, LINE), "mem", node.memory, node.was_memory)
    _fragments(pen, card, colours)
    for i, line in enumerate(card.lines):
        side = sides.get((line.role, line.flow), "left") if line.flow else "left"
        if line.role == "streams" and line.flow:
            side = sides.get(("arrives", line.flow), "left")
        indent = {"operator": 12.0, "query": 6.0, "note": 6.0}.get(line.role, 0.0)
        room = Box(inside.x + indent, box.y, inside.width - indent, box.height)
        pen.line(
            room,
            card.middle(i),
            line.words,
            side,
            "bold" if _bold(line) else "normal",
            color=_ink(line),
            size=SMALL if line.role == "streams" else TEXT,
        )


def _bold(line: Line) -> bool:
    return line.role == "query" or line.emphasis


def _ink(line: Line) -> str:
    if line.role == "arrives" and line.flow and line.flow.binds:
        return BINDS
    gone = (line.flow or line.fragment) and (line.flow or line.fragment).change == "gone"  # type: ignore[union-attr]
    if gone or line.role in ("streams", "leaves"):
        return FAINT
    return {"enters": SOURCE, "delivers": SINK}.get(line.role, INK)


def _fragments(pen: Pen, card: Card, colours: Mapping[str, str]) -> None:
    """The frames of fragments, behind their lines."""
    for fragment in card.node.fragments:
        mine = [i for i, line in enumerate(card.lines) if line.fragment is fragment]
        top = card.middle(mine[0]) - LINE / 2 + 1.0
        frame = Box(card.box.x + PAD / 2, top, card.box.width - PAD, LINE * len(mine) - 1.2)
        colour = colours[_short(fragment.query)]
        gone = fragment.change == "gone"
        operators = "\n".join(f"{kind} {name}" for kind, name in fragment.operators)
        title = "\n".join(filter(None, [f"fragment of {fragment.query}", fragment.note, operators]))
        fill, edge = (PAPER, colour) if gone else (tint(colour), INK if fragment.change == "new" else "none")
        pen.box(
            frame, 3, title, facecolor=fill, edgecolor=edge, linewidth=1.0, linestyle="--" if gone else "-"
        )
        if not gone:
            pen.add(Rectangle((frame.x, frame.y), 3, frame.height, facecolor=colour, edgecolor="none"))


def _bar(pen: Pen, box: Box, name: str, share: float, was: float | None) -> None:
    words = f"{name} {_percent(share)}"
    if was is not None and _percent(was) != _percent(share):
        words = f"{name} {_percent(was)} → {_percent(share)}"
    taken = width(words, SMALL) + 4
    pen.line(box, box.y, words, size=SMALL, color=FAINT)
    left, length = box.x + taken, box.width - taken
    if length > 8:
        pen.add(Rectangle((left, box.y - 2.5), length, 5, facecolor=TROUGH, edgecolor="none"))
        colour = BINDS if share > 0.995 else BAR
        pen.add(
            Rectangle((left, box.y - 2.5), length * min(share, 1.0), 5, facecolor=colour, edgecolor="none")
        )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 or share == 0 else "<1%"


def _arrow(pen: Pen, arrow: Arrow, colours: Mapping[str, str]) -> None:
    flow = arrow.flow
    queries = {stream.split("/", 1)[0] if "/" in stream else "" for stream in flow.streams}
    colour = colours.get(queries.pop(), FLOW) if len(queries) == 1 else FLOW
    if flow.binds:
        colour = BINDS
    thick = (0.9 + min(1.4, flow.bytes_per_second**0.25 / 40)) + (0.8 if flow.binds else 0.0)
    title = "\n".join([f"{flow.source} to {flow.target}: {rate(flow)}", *flow.streams])
    pen.arrow(arrow.points, colour, thick, title, dashed=flow.change == "gone")


def _describe(node: NodeContent) -> str:
    lines = [f"node {node.name}", f"cpu {node.cpu:.1%}", f"memory {node.memory:.1%}"]
    if node.was_cpu is not None and node.was_memory is not None:
        lines.append(f"before: cpu {node.was_cpu:.1%}, memory {node.was_memory:.1%}")
    return "\n".join(lines + (["this is what binds"] if node.binds else []))


def _legend(content: Content) -> list[tuple[Mark, str]]:
    """The marks of the content and what they stand for."""
    items: list[tuple[Mark, str]] = [
        ("fragment", "operators of one query that run together"),
        (
            "flow",
            "rows between nodes, in their query's colour; where they arrive: bytes a second, and streams",
        ),
        ("share", "share of the node's cpu or memory"),
    ]
    if any(node.binds for node in content.nodes) or any(flow.binds for flow in content.flows):
        items.append(("binds", "binds: what is used up first as the load grows"))
    changes = {fragment.change for node in content.nodes for fragment in node.fragments}
    if "new" in changes:
        items.append(("arrived", "has come (+)"))
    if "gone" in changes:
        items.append(("left", "was here before (−)"))
    if any(flow.change == "gone" for flow in content.flows):
        items.append(("flowed", "flowed before"))
    return items


def _mark(pen: Pen, mark: Mark, x: float, y: float) -> None:
    """A mark of the legend, 15 points wide."""
    box, colour = Box(x, y - 4, 15, 8), QUERIES[0]
    if mark in ("fragment", "arrived"):
        edge = INK if mark == "arrived" else "none"
        pen.box(box, 2, facecolor=tint(colour), edgecolor=edge, linewidth=1.0)
        pen.add(Rectangle((x, box.y), 3, box.height, facecolor=colour, edgecolor="none"))
    elif mark in ("flow", "flowed"):
        pen.arrow([(x, y), (x + 15, y)], FLOW, 1.1, dashed=mark == "flowed")
    elif mark == "share":
        pen.add(Rectangle((x, y - 2.5), 15, 5, facecolor=TROUGH, edgecolor="none"))
        pen.add(Rectangle((x, y - 2.5), 6, 5, facecolor=BAR, edgecolor="none"))
    elif mark == "binds":
        pen.box(box, 2, facecolor=CARD, edgecolor=BINDS, linewidth=1.8)
    else:
        pen.box(box, 2, facecolor=PAPER, edgecolor=colour, linewidth=1.0, linestyle="--")
