"""What lies where in a drawn picture, by the extents that the drawing itself has, not those of the layout."""

import warnings
from collections.abc import Sequence
from itertools import combinations, pairwise

from matplotlib.backends.backend_agg import FigureCanvasAgg
from weir_operator.pictures.pen import Pen
from weir_operator.pictures.shapes import Box, Point

PIXELS = 1200  # width of the screen for which pictures must be legible
SMALLEST = 10.5  # size of the smallest letters there, in pixels


def words(pen: Pen) -> list[tuple[str, Box]]:
    """Every text and the box that it takes, in the picture's coordinates."""
    renderer = FigureCanvasAgg(pen.figure).get_renderer()
    back = pen.axes.transData.inverted()
    result = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # measured as the box that stands for it
        for text in pen.axes.texts:
            (x0, y0), (x1, y1) = back.transform(text.get_window_extent(renderer).get_points())
            box = Box(min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0))
            result.append((text.get_text(), box))
    return result


def overlaps(boxes: Sequence[tuple[str, Box]]) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other by more than half a point."""
    return [(a, b) for (a, first), (b, second) in combinations(boxes, 2) if first.overlaps(second, -0.5)]


def astray(box: Box, frames: Sequence[Box]) -> bool:
    """Whether a box lies partly in a frame, and partly outside of it."""
    return any(box.overlaps(frame) and not within(box, frame) for frame in frames)


def within(box: Box, frame: Box) -> bool:
    return (
        box.x >= frame.x - 0.5
        and box.right <= frame.right + 0.5
        and box.y >= frame.y - 0.5
        and box.bottom <= frame.bottom + 0.5
    )


def sheet(pen: Pen) -> Box:
    (left, right), (bottom, top) = pen.axes.get_xlim(), pen.axes.get_ylim()
    return Box(left, top, right - left, bottom - top)


def illegible(pen: Pen) -> list[str]:
    """Texts that are too small when the picture is as wide as a screen, or the picture wider than it."""
    scale = min(PIXELS / sheet(pen).width, 96 / 72)
    return [text.get_text() for text in pen.axes.texts if text.get_fontsize() * scale < SMALLEST]


def pieces(points: Sequence[Point]) -> list[Box]:
    """The straight pieces of a line, as boxes without breadth."""
    return [Box(min(x, u), min(y, v), abs(u - x), abs(v - y)) for (x, y), (u, v) in pairwise(points)]


def together(first: Sequence[Point], second: Sequence[Point]) -> bool:
    """Whether two lines of level and upright pieces lie on each other somewhere."""
    for a in pieces(first):
        for b in pieces(second):
            level = (
                a.height < 0.1 and b.height < 0.1 and abs(a.y - b.y) < 1 and a.x < b.right and b.x < a.right
            )
            upright = (
                a.width < 0.1 and b.width < 0.1 and abs(a.x - b.x) < 1 and a.y < b.bottom and b.y < a.bottom
            )
            if level or upright:
                return True
    return False
