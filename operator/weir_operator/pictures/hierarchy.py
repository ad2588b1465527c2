"""The hierarchy of Hierarchical partitions as a tree, and under it a line for each flow between its nodes.

Lengths are in points, y grows downwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

from matplotlib.patches import Ellipse, PathPatch, Rectangle, RegularPolygon
from matplotlib.path import Path
from weir_placement.hierarchy.partition import Hierarchy

from weir_operator.pictures.content import Content, NodeContent, quantity, read
from weir_operator.pictures.pen import (
    BAR,
    BINDS,
    CARD,
    FAINT,
    FLOW,
    INK,
    QUERIES,
    SINK,
    SOURCE,
    ZONE,
    ImageFormat,
    Pen,
    legend_height,
    legend_places,
)
from weir_operator.pictures.shapes import MARGIN, SHEET, SMALL, Box, Point
from weir_operator.pictures.text import fit, width
from weir_operator.planning.difference import PlanReport

LEVEL = 40.0  # from one level's members to those of the next
PITCH, NARROW, GAP = 30.0, 13.0, 14.0  # between nodes, at most and at least, and more between clusters
NAME = 110.0  # room for a node's name, which stands upright
LABELS = 190.0  # room for what a flow carries, to the left of the nodes
ROW = 14.0  # of a flow
MARKS = ("runs operators", "a stream enters", "rows are delivered", "idle", "coordinator of its cluster")


@dataclass(frozen=True)
class Frame:
    """A cluster: its level, its box, the points of its members (by node index) and its coordinator."""

    level: int
    box: Box
    members: Mapping[int, Point]
    coordinator: int


@dataclass(frozen=True)
class Tree:
    """Clusters of all levels; `leaf` is the x of each node by its index, the same on all levels, `base` the y
    of the nodes, and `room` what their names have under them."""

    frames: tuple[Frame, ...]
    leaf: Mapping[int, float]
    base: float
    width: float
    room: float


def lay_out_tree(hierarchy: Hierarchy, room: float) -> Tree:
    """Nodes from left to right so that clusters of every level are intervals, with `room` for the nodes'
    names under them. A node is at the same x on every level. O(nodes)."""
    height = len(hierarchy.levels)
    space = SHEET - 2 * MARGIN - LABELS - GAP * len(hierarchy.levels[0])
    pitch = max(NARROW, min(PITCH, space / len(hierarchy.of[0])))
    base = 14.0 + LEVEL * (height - 1)
    frames: list[Frame] = []
    leaf: dict[int, float] = {}
    x = MARGIN + LABELS + GAP

    def place(level: int, coordinator: int) -> None:
        """Lays out the cluster that `coordinator` leads on a level, and those below it."""
        nonlocal x
        cluster = hierarchy.of[level][coordinator]
        members = sorted(cluster.members)
        for member in members:
            if level:
                place(level - 1, member)
            else:
                leaf[member] = x + pitch / 2
                x += pitch
        x += GAP if level == 0 else 0.0
        y = base - LEVEL * level
        points = {member: (leaf[member], y) for member in members}
        left, right = min(leaf[m] for m in members), max(leaf[m] for m in members)
        side = pitch / 2 if level == 0 else 6.0
        depth = 28.0 + (0.0 if level else room)
        box = Box(left - side, y - 14, right - left + 2 * side, depth)
        frames.append(Frame(level, box, points, cluster.coordinator))

    place(height - 1, hierarchy.top.coordinator)
    return Tree(tuple(frames), leaf, base, max(x - GAP + MARGIN, 620.0), room)


def hierarchy_picture(
    report: PlanReport, hierarchy: Hierarchy, names: Sequence[str], form: ImageFormat
) -> bytes:
    """The hierarchy over the nodes `names` (in the order of their indexes) and the plan's flows under it."""
    content = read(report)
    return drawn(report, content, hierarchy, names).rendered(content, form)


def drawn(report: PlanReport, content: Content, hierarchy: Hierarchy, names: Sequence[str]) -> Pen:
    """The picture of a report and its content."""
    longest = max(width(name, SMALL, "bold") for name in names)
    tree = lay_out_tree(hierarchy, min(longest, NAME) + 8)
    at = {names[index]: x for index, x in tree.leaf.items()}
    flows = [f for f in report["flows"] if f["from"] != f["to"] and f["from"] in at and f["to"] in at]
    queries = sorted(query["name"].split("/", 1)[-1] for query in report["queries"] if query["admitted"])
    colours = {name: QUERIES[i % len(QUERIES)] for i, name in enumerate(queries)}
    ground = tree.base + 14 + tree.room + 14
    floor = ground + ROW * (len(flows) + 1)
    items = (*MARKS, *queries)
    pen = Pen(
        tree.width,
        floor + legend_height(items, tree.width) + MARGIN / 2,
        content.title,
        (_clusters(hierarchy), *content.subtitles),
    )
    nodes = {node.name: node for node in content.nodes}
    for x in at.values() if flows else ():
        line = Path([(x, ground - 10), (x, floor - ROW / 2)])
        pen.add(PathPatch(line, edgecolor="#d5dde5", linewidth=0.6))
    for frame in tree.frames:
        _cluster(pen, frame, names)
    for frame in tree.frames:
        _members(pen, frame, names, nodes)
    binding = {(flow.source, flow.target) for flow in content.flows if flow.binds}
    flows.sort(key=lambda f: (f["stream"], f["from"], f["to"]))
    for i, flow in enumerate(flows):
        colour = colours.get(flow["stream"].split("/", 1)[0], FLOW)
        _flow(pen, flow, at, ground + ROW * (i + 0.5), colour, (flow["from"], flow["to"]) in binding)
    _legend(pen, items, colours, floor, tree.width)
    return pen


def _clusters(hierarchy: Hierarchy) -> str:
    levels = " · ".join(f"level {i + 1}: {len(level)}" for i, level in enumerate(hierarchy.levels))
    return f"clusters of at most {hierarchy.maxcs}: {levels}"


def _cluster(pen: Pen, frame: Frame, names: Sequence[str]) -> None:
    """The frame of a cluster, and lines from its members to themselves one level below."""
    level = frame.level
    title = f"level {level + 1} cluster, coordinator {names[frame.coordinator]}"
    pen.box(frame.box, 6, title, facecolor=ZONE, edgecolor="#d5dde5", linewidth=0.8, zorder=0.4)
    for x, y in frame.members.values() if level else ():
        line = Path([(x, y), (x, y + LEVEL)])
        pen.add(PathPatch(line, edgecolor="#9aa7b4", linewidth=0.7, zorder=0.5))


def _members(pen: Pen, frame: Frame, names: Sequence[str], nodes: Mapping[str, NodeContent]) -> None:
    for member, (x, y) in frame.members.items():
        node = nodes[names[member]]
        leads = member == frame.coordinator
        title = f"{node.name}\ncpu {node.cpu:.0%}, memory {node.memory:.0%}" + (
            "\ncoordinator" if leads else ""
        )
        _mark(pen, x, y, _work(node), leads, BINDS if node.binds else INK, title)
        if frame.level == 0:
            words = fit(node.name, NAME, SMALL, "bold")
            style = {"weight": "bold" if leads else "normal", "color": FAINT if node.idle else INK}
            pen.text(x, y + 12, words, SMALL, rotation=90, ha="center", va="top", **style)


def _mark(pen: Pen, x: float, y: float, work: str, leads: bool, edge: str, title: str = "") -> None:
    """A node by what it does, in a colour and a shape, within a ring if it coordinates its cluster."""
    if leads:
        pen.add(Ellipse((x, y), 12, 12, facecolor=CARD, edgecolor=edge, linewidth=1.6, zorder=3), title)
    style: dict[str, Any] = {"edgecolor": edge, "linewidth": 0.8, "zorder": 3.1}
    if work == "a stream enters":
        pen.add(RegularPolygon((x, y), 3, radius=4.0, orientation=pi, facecolor=SOURCE, **style), title)
    elif work == "rows are delivered":
        pen.add(Rectangle((x - 3, y - 3), 6, 6, facecolor=SINK, **style), title)
    else:
        fill = BAR if work == "runs operators" else CARD
        pen.add(Ellipse((x, y), 7, 7, facecolor=fill, **style), title)


def _work(node: NodeContent) -> str:
    """What a node does, by the most of it."""
    runs, enters, delivers, idle, _ = MARKS
    if node.fragments:
        return runs
    return enters if node.sources else delivers if node.deliveries else idle


def _flow(
    pen: Pen, flow: Mapping[str, Any], at: Mapping[str, float], y: float, colour: str, binds: bool
) -> None:
    """A flow's rate and stream at the left, and its arrow from below its one node to below its other."""
    a, b = at[flow["from"]], at[flow["to"]]
    rate = f"{quantity(flow['bytesPerSecond'])}B/s"
    ink = BINDS if binds else INK
    title = f"{flow['stream']}: {flow['from']} to {flow['to']}, {rate}"
    column = Box(MARGIN, y, 52, 0)
    pen.line(column, y, rate, "right", "bold" if binds else "normal", size=SMALL, color=ink)
    stream = f"binds: {flow['stream']}" if binds else flow["stream"]
    pen.line(Box(column.right + 6, y, LABELS - 58, 0), y, stream, size=SMALL, color=ink if binds else FAINT)
    pen.add(Ellipse((a, y), 4.5, 4.5, facecolor=colour, edgecolor="none"))
    pen.arrow([(a, y), (b, y)], BINDS if binds else colour, 1.4, title)


def _legend(pen: Pen, items: Sequence[str], colours: Mapping[str, str], top: float, across: float) -> None:
    """The marks of nodes, then the colours of queries."""
    for i, (words, (x, y)) in enumerate(zip(items, legend_places(items, across), strict=True)):
        pen.text(x, top + y + 3, words, SMALL, color=FAINT)
        if i < len(MARKS):
            _mark(pen, x - 10, top + y, words, i == len(MARKS) - 1, INK)
        else:
            line = Path([(x - 20, top + y), (x - 4, top + y)])
            pen.add(PathPatch(line, edgecolor=colours[words], linewidth=2.2))
