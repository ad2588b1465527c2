"""The colours of lines look different to people who see no red or no green."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from weir_operator.pictures.pen import BINDS, FLOW, QUERIES

Vector = npt.NDArray[np.float64]

# Linear RGB as protanopes and deuteranopes see it: Viénot, Brettel, Mollon, Digital Video Colourmaps for
# Checking the Legibility of Displays by Dichromats, Color Research and Application 24 (1999).
SIGHT = {
    "no red": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
    "no green": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
APART = 15.0  # in CIELAB, where 2.3 is just noticeable


def linear(colour: str) -> Vector:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: Vector) -> Vector:
    x, y, z = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    a, b, c = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * b - 16, 500 * (a - b), 200 * (b - c)])


@pytest.mark.parametrize("sight", SIGHT)
def test_lines_can_be_told_apart(sight: str) -> None:
    seen = {colour: lab(np.array(SIGHT[sight]) @ linear(colour)) for colour in (*QUERIES, FLOW, BINDS)}
    near = [(a, b) for a, b in combinations(seen, 2) if np.linalg.norm(seen[a] - seen[b]) < APART]
    assert not near
