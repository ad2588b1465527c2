"""The hierarchy of Hierarchical partitions as a tree, and under it each query's flows between the nodes.

Lengths are in points, y grows downwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, PathPatch, Polygon
from matplotlib.path import Path
from weir_placement.hierarchy.partition import Hierarchy

from weir_operator.pictures.content import Content, NodeContent, Report, quantity, read
from weir_operator.pictures.draw import (
    BAR,
    BINDS,
    CARD,
    FAINT,
    FLOW,
    INK,
    PAPER,
    SINK,
    SOURCE,
    ZONE,
    ImageFormat,
    Pen,
    rendered,
)
from weir_operator.pictures.layout import Box, Scene

PITCH, GAP, LEVEL, TOP, MARGIN = 30.0, 20.0, 70.0, 96.0, 40.0
LETTERS = 16  # of a node's name at most
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b7791f", "#4a5568", "#c53030", "#2c7a7b")


@dataclass(frozen=True)
class Frame:
    """A cluster: its level, its box, the points of its members (by node index) and its coordinator."""

    level: int
    box: Box
    members: Mapping[int, tuple[float, float]]
    coordinator: int


@dataclass(frozen=True)
class Tree:
    """Clusters of all levels; `leaf` is the x of each node by its index, `base` the y of the nodes."""

    frames: tuple[Frame, ...]
    leaf: Mapping[int, float]
    base: float
    width: float


def lay_out_tree(hierarchy: Hierarchy, room: float) -> Tree:
    """Nodes from left to right so that clusters of every level are intervals, with `room` for the nodes'
    names under them. O(nodes)."""
    height = len(hierarchy.levels)
    base = TOP + LEVEL * (height - 1) + 24
    frames: list[Frame] = []
    leaf: dict[int, float] = {}
    x = MARGIN

    def place(level: int, coordinator: int) -> float:
        """Lays out the cluster that `coordinator` leads on a level; returns the x of its middle."""
        nonlocal x
        cluster = hierarchy.of[level][coordinator]
        points: dict[int, tuple[float, float]] = {}
        y = base - LEVEL * level
        for member in sorted(cluster.members):
            if level:
                points[member] = (place(level - 1, member), y)
            else:
                leaf[member] = x + PITCH / 2
                points[member] = (leaf[member], y)
                x += PITCH
        x += GAP if level == 0 else GAP / 2
        left, right = min(p[0] for p in points.values()), max(p[0] for p in points.values())
        depth = 28.0 + (0.0 if level else room)
        frames.append(
            Frame(level, Box(left - 15, y - 14, right - left + 30, depth), points, cluster.coordinator)
        )
        return (left + right) / 2

    place(height - 1, hierarchy.top.coordinator)
    return Tree(tuple(frames), leaf, base, max(x + MARGIN, 620.0))


def hierarchy_picture(report: Report, hierarchy: Hierarchy, names: Sequence[str], form: ImageFormat) -> bytes:
    """The hierarchy over the nodes `names` (in the order of their indexes) and the plan's flows under it."""
    content = read(report)
    room = 4.8 * min(LETTERS, max(map(len, names))) + 6
    tree = lay_out_tree(hierarchy, room)
    at = {names[index]: x for index, x in tree.leaf.items()}
    ground = tree.base + 14 + room + 10
    widest = max((abs(at[f.source] - at[f.target]) for f in content.flows), default=0.0)
    most = max(Counter(frozenset((f["from"], f["to"])) for f in report["flows"]).values(), default=1)
    floor = ground + _depth(widest) + 11.0 * most + 24
    queries = sorted(query["name"].split("/", 1)[-1] for query in report["queries"] if query["admitted"])
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(queries)}
    scene = Scene(tree.width, floor + 24.0 + 16 * -(-len(queries) // 4), (), (), ())
    figure = Figure(figsize=(scene.width / 72, scene.height / 72), dpi=144, facecolor=PAPER)
    pen = Pen(figure, scene)
    pen.text(24, 30, content.title, size=14, weight="bold")
    pen.text(24, 52, _subtitle(hierarchy, content), size=10, color=FAINT)
    nodes = {node.name: node for node in content.nodes}
    for frame in tree.frames:
        _frame(pen, frame, tree, names)
    for frame in tree.frames:
        _members(pen, frame, names, nodes)
    _flows(pen, report, at, ground, colours)
    _legend(pen, colours, floor + 8, tree.width)
    return rendered(figure, pen.titles, content, form)


def _subtitle(hierarchy: Hierarchy, content: Content) -> str:
    clusters = " · ".join(f"level {i + 1}: {len(level)}" for i, level in enumerate(hierarchy.levels))
    return f"clusters of at most {hierarchy.maxcs}: {clusters} · {content.subtitle}"


def _frame(pen: Pen, frame: Frame, tree: Tree, names: Sequence[str]) -> None:
    level = frame.level
    title = f"level {level + 1} cluster, coordinator {names[frame.coordinator]}"
    pen.box(frame.box, 8, title, facecolor=ZONE, edgecolor="#d5dde5", linewidth=0.8)
    if level == 0:
        return
    for member, (x, y) in frame.members.items():
        below = next(f for f in tree.frames if f.level == level - 1 and member in f.members)
        for point in below.members.values():
            pen.add(
                PathPatch(
                    Path([(x, y), point]), facecolor="none", edgecolor="#c3cdd8", linewidth=0.7, zorder=0.5
                )
            )


def _members(pen: Pen, frame: Frame, names: Sequence[str], nodes: Mapping[str, NodeContent]) -> None:
    for member, (x, y) in frame.members.items():
        node = nodes[names[member]]
        fill, edge = _colour(node)
        leads = member == frame.coordinator
        size = 12 if leads else 8
        title = f"{node.name}\ncpu {node.cpu:.0%}" + ("\ncoordinator" if leads else "")
        pen.add(
            Ellipse(
                (x, y), size, size, facecolor=fill, edgecolor=edge, linewidth=1.6 if leads else 1.0, zorder=3
            ),
            title,
        )
        if frame.level == 0:
            weight = "bold" if leads else "normal"
            colour = FAINT if node.idle else INK
            words = node.name if len(node.name) <= LETTERS else node.name[: LETTERS - 1] + "…"
            pen.text(x, y + 12, words, 8, rotation=90, ha="center", va="top", weight=weight, color=colour)
        else:
            pen.text(x, y - 18, node.name, 7.5, ha="center", color=FAINT)


def _colour(node: NodeContent) -> tuple[str, str]:
    """What a node does, by the strongest of it."""
    edge = BINDS if node.binds else INK
    if node.fragments:
        return BAR, edge
    if node.sources:
        return SOURCE, edge
    if node.deliveries:
        return SINK, edge
    return CARD, FAINT


def _depth(distance: float) -> float:
    """How deep the arc between two nodes so far apart hangs."""
    return 14.0 + min(distance * 0.34, 190.0)


def _flows(
    pen: Pen, report: Report, at: Mapping[str, float], ground: float, colours: Mapping[str, str]
) -> None:
    flows = [f for f in report["flows"] if f["from"] != f["to"] and f["from"] in at and f["to"] in at]
    most = max((f["bytesPerSecond"] for f in flows), default=0.0) or 1.0
    occupied: list[Box] = []
    pairs: dict[tuple[float, float], int] = {}
    for flow in sorted(flows, key=lambda f: abs(at[f["from"]] - at[f["to"]])):
        a, b = at[flow["from"]], at[flow["to"]]
        pair = (min(a, b), max(a, b))
        pairs[pair] = pairs.get(pair, -1) + 1
        depth = _depth(abs(a - b)) + 11.0 * pairs[pair]
        colour = colours.get(flow["stream"].split("/", 1)[0], FLOW)
        curve = Path(
            [(a, ground), (a, ground + depth * 1.33), (b, ground + depth * 1.33), (b, ground + 6)],
            [1, 4, 4, 4],
        )
        width = 0.8 + 2.6 * (flow["bytesPerSecond"] / most) ** 0.5
        title = f"{flow['stream']}: {flow['from']} to {flow['to']}, {quantity(flow['bytesPerSecond'])}B/s"
        pen.add(PathPatch(curve, facecolor="none", edgecolor=colour, linewidth=width, zorder=1), title)
        pen.add(
            Polygon(
                [(b, ground), (b - 4, ground + 8), (b + 4, ground + 8)],
                facecolor=colour,
                linewidth=0,
                zorder=2,
            )
        )
        _rate(pen, f"{quantity(flow['bytesPerSecond'])}B/s", (a + b) / 2, ground + depth, colour, occupied)


def _rate(pen: Pen, words: str, x: float, y: float, colour: str, occupied: list[Box]) -> None:
    """A flow's rate at the lowest point of its arc, where there is room for it; hovering shows the others."""
    width = len(words) * 4.6 + 4
    box = Box(x - width / 2, y - 6, width, 11)
    if not any(box.overlaps(other, 1.0) for other in occupied):
        occupied.append(box)
        pen.box(box, 2, facecolor=PAPER, edgecolor="none", zorder=2)
        pen.text(x, y + 2.5, words, 7, ha="center", color=colour, zorder=3)


def _legend(pen: Pen, colours: Mapping[str, str], y: float, width: float) -> None:
    marks = (
        (BAR, "runs operators"),
        (SOURCE, "a stream enters"),
        (SINK, "rows are delivered"),
        (CARD, "idle"),
    )
    for i, (fill, words) in enumerate(marks):
        pen.add(Ellipse((30 + i * 130, y), 8, 8, facecolor=fill, edgecolor=INK, linewidth=0.8))
        pen.text(40 + i * 130, y + 3, words, 8, color=FAINT)
    column = (width - 48) / 4
    for i, (name, colour) in enumerate(colours.items()):
        x, line = 26 + (i % 4) * column, y + 16 * (1 + i // 4)
        pen.add(PathPatch(Path([(x, line), (x + 16, line)]), edgecolor=colour, linewidth=2.2))
        pen.text(x + 22, line + 3, name[: int(column / 5.2)], 8)
