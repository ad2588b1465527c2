"""Draws shapes and words with matplotlib, and writes them as SVG, PNG or a page."""

from __future__ import annotations

import html
import io
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from math import hypot
from typing import Any, Literal, TypeAlias

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Patch, PathPatch, Polygon
from matplotlib.path import Path

from weir_operator.pictures.content import Content, quantity
from weir_operator.pictures.shapes import LINE, MARGIN, SMALL, TEXT, Box, Point
from weir_operator.pictures.text import FAMILY, Weight, fit, width, wrap

# Okabe and Ito's, which colour-blind people can tell apart (https://jfly.uni-koeln.de/color/), but an
# indigo in place of their yellow, which is faint on white. Nothing is said by colour alone.
QUERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#332288", "#000000")
INK, FAINT, PAPER, ZONE, CARD, BAR = "#1f2933", "#5f6b78", "#ffffff", "#f3f6f9", "#ffffff", "#0072b2"
RIM, BINDS, FLOW, SOURCE, SINK = "#9fb3c8", "#b00020", "#52606d", "#00694d", "#8c3f6b"
SVG = "{http://www.w3.org/2000/svg}"
TITLE, HEAD = 13.0, 17.0  # size of a picture's title, height of its lines
ROUND = 4.0  # radius of a line's corners

ImageFormat: TypeAlias = Literal["svg", "png", "html"]


def tint(colour: str, share: float = 0.16) -> str:
    """A colour mixed with white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - part) * share):02x}" for part in parts)


class Pen:
    """Shapes and words in points, y downwards, below a heading that stands above y = 0.

    `titles` are hover texts by shape id.
    """

    def __init__(self, across: float, down: float, title: str, subtitles: Sequence[str]) -> None:
        heads = wrap(title, across - 2 * MARGIN, TITLE, "bold")
        lines = [line for words in subtitles for line in wrap(words, across - 2 * MARGIN, TEXT)]
        top = MARGIN + HEAD * len(heads) + LINE * len(lines) + 10
        size = (across / 72, (top + down) / 72)
        self.figure = Figure(figsize=size, dpi=144, facecolor=PAPER)
        self.axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, across), ylim=(down, -top))
        self.axes.axis("off")
        self.titles: dict[str, str] = {}
        for i, line in enumerate(heads):
            self.text(MARGIN, MARGIN - top + 8 + HEAD * i, line, TITLE, weight="bold")
        for i, line in enumerate(lines):
            self.text(MARGIN, MARGIN - top + 4 + HEAD * len(heads) + LINE * (i + 0.5), line, color=FAINT)

    def text(self, x: float, y: float, words: str, size: float = TEXT, **style: Any) -> None:
        """Words with their baseline's left end at (x, y), or as `style` says."""
        style = {"color": INK, "family": [FAMILY, "sans-serif"], **style}
        self.axes.text(x, y, words, fontsize=size, parse_math=False, **style)

    def line(
        self, box: Box, y: float, words: str, side: str = "left", weight: Weight = "normal", **style: Any
    ) -> None:
        """Words at a side of a box, cut where it ends, with their middle at `y`."""
        size = style.pop("size", TEXT)
        x = box.x if side == "left" else box.right
        words = fit(words, box.width, size, weight)
        self.text(x, y + 0.36 * size, words, size, ha=side, weight=weight, **style)

    def box(self, box: Box, radius: float = 5.0, title: str = "", **style: Any) -> None:
        """A rounded rectangle."""
        shape = f"round,pad=0,rounding_size={radius}"
        self.add(FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=shape, **style), title)

    def arrow(
        self, points: Sequence[Point], colour: str, thick: float, title: str = "", dashed: bool = False
    ) -> None:
        """A line with rounded corners and a head at its end, the tip at the last point."""
        (x0, y0), (x, y) = points[-2:]
        length = hypot(x - x0, y - y0) or 1.0
        along = ((x - x0) / length, (y - y0) / length)
        back, half = 5.0 + thick, 2.2 + thick * 0.7
        neck = (x - back * along[0], y - back * along[1])
        style = "--" if dashed else "-"
        path = _rounded([*points[:-1], neck])
        self.add(PathPatch(path, edgecolor=colour, facecolor="none", linewidth=thick, linestyle=style), title)
        across = (-along[1] * half, along[0] * half)
        corners = [
            (x, y),
            (neck[0] + across[0], neck[1] + across[1]),
            (neck[0] - across[0], neck[1] - across[1]),
        ]
        self.add(Polygon(corners, facecolor=colour, edgecolor="none"))

    def add(self, patch: Patch, title: str = "") -> None:
        """Any patch, with a hover text."""
        if title:
            name = f"weir-{len(self.titles)}"
            self.titles[name] = title
            patch.set_gid(name)
        self.axes.add_patch(patch)

    def rendered(self, content: Content, form: ImageFormat) -> bytes:
        """The picture as a file."""
        from matplotlib import rc_context

        buffer = io.BytesIO()
        with (
            warnings.catch_warnings()
        ):  # a letter that the font lacks is drawn as a box, or by a browser's font
            warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
            if form == "png":
                FigureCanvasAgg(self.figure).print_png(buffer)
                return buffer.getvalue()
            with rc_context({"svg.fonttype": "none", "svg.hashsalt": "weir"}):
                FigureCanvasSVG(self.figure).print_svg(buffer, metadata={"Date": None})
        svg = _with_titles(buffer.getvalue(), self.titles)
        return svg if form == "svg" else _page(content, svg)


def _rounded(points: Sequence[Point]) -> Path:
    """A polyline with rounded corners."""
    vertices, codes = [points[0]], [Path.MOVETO]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        for end in (before, after):
            length = hypot(end[0] - corner[0], end[1] - corner[1])
            part = min(ROUND, length / 2) / length if length else 0.0
            near = (corner[0] + (end[0] - corner[0]) * part, corner[1] + (end[1] - corner[1]) * part)
            if end is before:
                vertices += [near, corner]
                codes += [Path.LINETO, Path.CURVE3]
            else:
                vertices.append(near)
                codes.append(Path.CURVE3)
    return Path([*vertices, points[-1]], [*codes, Path.LINETO])


def legend_height(items: Sequence[str], across: float) -> float:
    """The height that `legend` needs."""
    return LINE * (_places(items, across)[-1][1] + 1) + 6 if items else 0.0


def legend_places(items: Sequence[str], across: float) -> list[Point]:
    """Where the words of each item of a legend begin, from its top; lines of `across` points."""
    return [(x, LINE * (line + 0.5) + 6) for x, line in _places(items, across)]


def _places(items: Sequence[str], across: float) -> list[tuple[float, int]]:
    x, line, places = MARGIN, 0, []
    for words in items:
        room = 22 + width(words, SMALL)
        if x > MARGIN and x + room > across - MARGIN:
            x, line = MARGIN, line + 1
        places.append((x + 22, line))
        x += room + 18
    return places


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
    compared = any(flow.change != "same" for flow in content.flows)
    rows = "".join(
        f"<tr><td>{html.escape(f.source)}</td><td>{html.escape(f.target)}</td>"
        f"<td>{quantity(f.bytes_per_second)}B/s</td>"
        + (f"<td>{quantity(f.was or 0.0)}B/s</td>" if compared else "")
        + f"<td>{html.escape(', '.join(f.streams))}</td></tr>"
        for f in sorted(content.flows, key=lambda f: -f.bytes_per_second)
    )
    before = "<th>before</th>" if compared else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Weir: {html.escape(content.title)}</title>
<style>
body {{ font: 14px/1.4 sans-serif; color: {INK}; background: {PAPER}; margin: 1rem; }}
svg {{ max-width: 100%; height: auto; }}
svg g[id^="weir-"]:hover path {{ stroke: {BINDS}; }}
table {{ border-collapse: collapse; margin-top: 1rem; }}
td, th {{ border-bottom: 1px solid #d5dde5; padding: .2rem .8rem .2rem 0; text-align: left; }}
</style></head><body>
{body}
<table><tr><th>from</th><th>to</th><th>rate</th>{before}<th>streams</th></tr>{rows}</table>
</body></html>
""".encode()
