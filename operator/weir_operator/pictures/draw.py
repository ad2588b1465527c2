"""Draws a laid-out plan with matplotlib, as SVG or PNG, and wraps the SVG in a page."""

from __future__ import annotations

import html
import io
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Patch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path

from weir_operator.pictures.content import Content, NodeContent, Report, quantity, read
from weir_operator.pictures.layout import (
    CARD_WIDTH,
    LINE,
    PAD,
    Arrow,
    Box,
    Card,
    Scene,
    Zone,
    fragment_lines,
    label_lines,
    lay_out,
)

INK, FAINT, PAPER, ZONE, CARD, BAR = "#1f2933", "#7b8794", "#ffffff", "#f3f6f9", "#ffffff", "#3e7cb1"
BINDS, FLOW, SOURCE, SINK = "#c8322b", "#52779c", "#2f855a", "#8a5a9e"
QUERIES = ("#dbeafe", "#fde8cf", "#dff3e4", "#f2e1f7", "#fdf3c4", "#e3e8ef", "#fbdcdc", "#d5f1f3")
SVG = "{http://www.w3.org/2000/svg}"


ImageFormat: TypeAlias = Literal["svg", "png", "html"]


def picture(report: Report, form: ImageFormat, zones: Mapping[str, str] | None = None) -> bytes:
    """The plan as a picture; `zones` maps node name -> zone."""
    content = read(report, zones)
    scene = lay_out(content)
    figure, titles = _figure(content, scene)
    return rendered(figure, titles, content, form)


def rendered(figure: Figure, titles: Mapping[str, str], content: Content, form: ImageFormat) -> bytes:
    """A figure as a file; `titles` are hover texts by shape id."""
    buffer = io.BytesIO()
    if form == "png":
        FigureCanvasAgg(figure).print_png(buffer)
        return buffer.getvalue()
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "weir"}):
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
    svg = _with_titles(buffer.getvalue(), titles)
    return svg if form == "svg" else _page(content, svg)


def _figure(content: Content, scene: Scene) -> tuple[Figure, dict[str, str]]:
    figure = Figure(figsize=(scene.width / 72, scene.height / 72), dpi=144, facecolor=PAPER)
    pen = Pen(figure, scene)
    pen.text(24, 30, content.title, size=14, weight="bold")
    pen.text(24, 52, content.subtitle, size=10, color=FAINT)
    colours = {
        name: QUERIES[i % len(QUERIES)]
        for i, name in enumerate(
            sorted({f.query.rsplit("/", 1)[-1] for n in content.nodes for f in n.fragments})
        )
    }
    for zone in scene.zones:
        _zone(pen, zone)
    for arrow in scene.arrows:
        _arrow(pen, arrow)
    for card in scene.cards:
        _card(pen, card, colours)
    for arrow in scene.arrows:
        _label(pen, arrow)
    return figure, pen.titles


class Pen:
    """Shapes in points with y downwards; `titles` are hover texts by shape id."""

    def __init__(self, figure: Figure, scene: Scene) -> None:
        self.axes = figure.add_axes((0, 0, 1, 1), xlim=(0, scene.width), ylim=(scene.height, 0))
        self.axes.axis("off")
        self.titles: dict[str, str] = {}

    def text(self, x: float, y: float, words: str, size: float = 9, **style: Any) -> None:
        """Words with their baseline's left end at (x, y)."""
        style = {"color": INK, "family": ["DejaVu Sans", "sans-serif"], **style}
        self.axes.text(x, y, words, fontsize=size, parse_math=False, **style)

    def box(self, box: Box, radius: float = 5.0, title: str = "", **style: Any) -> None:
        """A rounded rectangle."""
        shape = f"round,pad=0,rounding_size={radius}"
        self.add(FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=shape, **style), title)

    def add(self, patch: Patch, title: str = "") -> None:
        """Any patch, with a hover text."""
        if title:
            name = f"weir-{len(self.titles)}"
            self.titles[name] = title
            patch.set_gid(name)
        self.axes.add_patch(patch)


def _zone(pen: Pen, zone: Zone) -> None:
    pen.box(zone.box, 10, facecolor=ZONE, edgecolor="#d5dde5", linewidth=0.8)
    pen.text(
        zone.box.x + 12, zone.box.y + 19, f"zone {zone.name}" if zone.name else "no zone", 10, color=FAINT
    )
    if zone.idle:
        rows = -(-len(zone.idle) // 2)
        y = zone.box.y + zone.box.height - LINE * rows - 6
        pen.text(zone.box.x + 22, y - 4, f"idle ({len(zone.idle)})", 8, color=FAINT, style="italic")
        for i, name in enumerate(zone.idle):
            pen.text(
                zone.box.x + 22 + (i % 2) * 100,
                y + LINE * (i // 2 + 1) - 6,
                _fit(name, 92, 5.0),
                8,
                color=FAINT,
            )


def _card(pen: Pen, card: Card, colours: Mapping[str, str]) -> None:
    node, box = card.node, card.box
    edge = BINDS if node.binds else "#9fb3c8"
    pen.box(box, 6, _describe(node), facecolor=CARD, edgecolor=edge, linewidth=1.8 if node.binds else 1.0)
    pen.text(box.x + PAD, box.y + 17, _fit(node.name, CARD_WIDTH - 2 * PAD, 6.2), 10, weight="bold")
    half = (box.width - 3 * PAD) / 2
    _bar(pen, box.x + PAD, box.y + 32, half, "cpu", node.cpu)
    _bar(pen, box.x + 2 * PAD + half, box.y + 32, half, "mem", node.memory)
    y = box.y + 46
    for name in node.sources:
        pen.text(box.x + PAD, y + 11, _fit(f"▸ enters: {name}", box.width - 2 * PAD), 9, color=SOURCE)
        y += LINE
    for query, lines in fragment_lines(node):
        height = LINE * (1 + len(lines)) + 8
        frame = Box(box.x + PAD / 2, y + 2, box.width - PAD, height)
        pen.box(
            frame, 4, f"fragment of {query}: " + ", ".join(lines), facecolor=colours[query], edgecolor="none"
        )
        pen.text(frame.x + 7, frame.y + 13, _fit(query, frame.width - 14, 5.8), 9, weight="bold")
        for i, line in enumerate(lines):
            pen.text(frame.x + 13, frame.y + 13 + LINE * (i + 1), _fit(line, frame.width - 20), 9)
        y += height + 6
    for name in node.deliveries:
        pen.text(box.x + PAD, y + 13, _fit(f"◂ delivers: {name}", box.width - 2 * PAD), 9, color=SINK)
        y += LINE


def _bar(pen: Pen, x: float, y: float, width: float, name: str, share: float) -> None:
    pen.text(
        x, y + 4, f"{name} {share:.0%}" if share >= 0.005 or share == 0 else f"{name} <1%", 7.5, color=FAINT
    )
    left, length = x + 46, width - 46
    pen.add(Rectangle((left, y - 2), length, 5, facecolor="#e4e9ef", edgecolor="none"))
    colour = BINDS if share > 0.995 else BAR
    pen.add(Rectangle((left, y - 2), length * min(share, 1.0), 5, facecolor=colour, edgecolor="none"))


def _arrow(pen: Pen, arrow: Arrow) -> None:
    path = Path(list(arrow.points), [Path.MOVETO] + [Path.CURVE4] * (len(arrow.points) - 1))
    colour = BINDS if arrow.flow.binds else FLOW
    width = 1.1 + min(2.4, arrow.flow.bytes_per_second**0.25 / 40)
    title = f"{arrow.flow.source} to {arrow.flow.target}: {', '.join(arrow.flow.streams)}"
    pen.add(PathPatch(path, edgecolor=colour, facecolor="none", linewidth=width), title)
    (x0, _), (x, y) = arrow.points[-2:]  # every arrow arrives level
    back = x - (5 + 2 * width) * (1 if x > x0 else -1)
    corners = [(x, y), (back, y - 2.5 - width), (back, y + 2.5 + width)]
    pen.add(Polygon(corners, facecolor=colour, edgecolor="none"))


def _label(pen: Pen, arrow: Arrow) -> None:
    box = arrow.label
    pen.box(box, 3, facecolor=PAPER, edgecolor="#d5dde5", linewidth=0.6, alpha=0.93)
    for i, line in enumerate(label_lines(arrow.flow)):
        colour = (BINDS if arrow.flow.binds else INK) if i == 0 else FAINT
        pen.text(box.x + 4, box.y + 11 + i * (LINE - 3), line, 8, color=colour)


def _fit(words: str, width: float, character: float = 5.3) -> str:
    most = int(width / character)
    return words if len(words) <= most else words[: most - 1] + "…"


def _describe(node: NodeContent) -> str:
    lines = [f"node {node.name}", f"cpu {node.cpu:.1%}", f"memory {node.memory:.1%}"]
    return "\n".join(lines + (["this is what binds"] if node.binds else []))


def _with_titles(svg: bytes, titles: Mapping[str, str]) -> bytes:
    ElementTree.register_namespace("", SVG[1:-1])
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    tree = ElementTree.fromstring(svg)
    for group in tree.iter(f"{SVG}g"):
        if title := titles.get(group.get("id", "")):
            child = ElementTree.Element(f"{SVG}title")
            child.text = title
            group.insert(0, child)
    xml: bytes = ElementTree.tostring(tree, encoding="utf-8", xml_declaration=True)
    return xml


def _page(content: Content, svg: bytes) -> bytes:
    body = svg.decode().split("?>", 1)[1]
    rows = "".join(
        f"<tr><td>{html.escape(f.source)}</td><td>{html.escape(f.target)}</td>"
        f"<td>{quantity(f.bytes_per_second)}B/s</td><td>{html.escape(', '.join(f.streams))}</td></tr>"
        for f in sorted(content.flows, key=lambda f: -f.bytes_per_second)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Weir: {html.escape(content.title)}</title>
<style>
body {{ font: 14px/1.4 sans-serif; color: {INK}; margin: 1rem; }}
svg {{ max-width: 100%; height: auto; }}
svg g[id^="weir-"]:hover path {{ stroke: {BINDS}; }}
table {{ border-collapse: collapse; margin-top: 1rem; }}
td, th {{ border-bottom: 1px solid #d5dde5; padding: .2rem .8rem .2rem 0; text-align: left; }}
</style></head><body>
{body}
<table><tr><th>from</th><th>to</th><th>rate</th><th>streams</th></tr>{rows}</table>
</body></html>
""".encode()
