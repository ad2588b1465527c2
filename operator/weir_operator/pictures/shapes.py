"""Points, boxes, and the lengths that all pictures have in common, in points; y grows downwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]

SHEET = 900.0  # width of a picture: 1,200 pixels of a screen, where the smallest text is 11 pixels high
MARGIN = 24.0
LINE = 14.0  # height of a line of text
TEXT, SMALL = 9.0, 8.0  # sizes of text


@dataclass(frozen=True)
class Box:
    """A rectangle with its upper left corner at (x, y)."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of its lower edge."""
        return self.y + self.height

    def overlaps(self, other: Box, margin: float = 0.0) -> bool:
        """Whether the two share any point, `margin` around this one included."""
        return (
            self.x - margin < other.right
            and other.x < self.right + margin
            and self.y - margin < other.bottom
            and other.y < self.bottom + margin
        )
