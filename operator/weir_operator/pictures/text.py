"""How wide words are in the pictures' font, and what of them has room."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Literal, TypeAlias

from matplotlib.font_manager import FontProperties, get_font
from matplotlib.font_manager import findfont as find_font
from matplotlib.ft2font import FT2Font, LoadFlags

Weight: TypeAlias = Literal["normal", "bold"]

FAMILY = "DejaVu Sans"  # comes with matplotlib, and is wide: words in a reader's other font take less room
MORE = "…"


def width(words: str, size: float, weight: Weight = "normal") -> float:
    """The width of a line of `words` at a font size, both in points. O(letters).

    A letter that the font lacks counts as wide as the box that stands for it.
    """
    return sum(_advance(letter, weight) for letter in words) * size


def fit(words: str, room: float, size: float, weight: Weight = "normal") -> str:
    """`words`, or as much of their beginning and an ellipsis as `room` [points] holds."""
    if width(words, size, weight) <= room:
        return words
    left = room - width(MORE, size, weight)
    for count, letter in enumerate(words):
        left -= width(letter, size, weight)
        if left < 0:
            return words[:count].rstrip() + MORE
    return words


def wrap(words: str, room: float, size: float, weight: Weight = "normal") -> list[str]:
    """Lines of whole words that `room` [points] holds; a longer word is cut."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size, weight) <= room:
            lines[-1] = longer
        else:
            lines.append(fit(word, room, size, weight))
    return lines


@cache
def _advance(letter: str, weight: Weight) -> float:
    """The width of a letter in units of the font's size."""
    font = _font(weight)
    if unicodedata.combining(letter):
        return 0.0
    if not font.get_char_index(ord(letter)) or unicodedata.east_asian_width(letter) in "WF":
        return 1.2
    glyph = font.load_char(ord(letter), LoadFlags.NO_SCALE)
    return float(glyph.horiAdvance / font.units_per_EM)


@cache
def _font(weight: Weight) -> FT2Font:
    return get_font(find_font(FontProperties(family=FAMILY, weight=weight)))
