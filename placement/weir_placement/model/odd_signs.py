"""Characters that look like others: printed signs, letters of other alphabets, invisible ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

SIGNS = {
    "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u00d7": "*", "\u00f7": "/", "\u2265": ">=", "\u2264": "<=",
    "\u2260": "<>", "\uff0c": ",", "\uff08": "(", "\uff09": ")", "\uff0e": ".", "\uff1d": "=",
}  # fmt: skip
"""What SQL writes for them."""

OPERATORS = {"=!": "<>", "===": "=", "=<": "<=", "=>": ">=", "**": "power(x, y)"}
"""What SQL writes for those of other languages."""


def named(character: str) -> str:
    """
    >>> named("\u2013")
    'U+2013 (EN DASH)'
    """
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'without a name')})"


def odd_letter(name: str) -> str:
    """The end of a message about a name, where it has what is none of a-z; "" for others.

    >>> odd_letter("read\u200bings"), odd_letter("readings")
    ('; it has U+200B (ZERO WIDTH SPACE)', '')
    """
    first = next((character for character in name if not character.isascii()), "")
    return f"; it has {named(first)}" if first else ""


def refused_signs(tokens: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """(message, offset) of what is no operator of SQL; texts and quoted names may have anything."""
    previous: Any = None
    for token in tokens:
        if token.token_type.name == "VAR":
            for i, character in enumerate(token.text):
                if character in SIGNS:
                    yield f"{named(character)} is no sign of SQL; write {SIGNS[character]}", token.start + i
        if previous is not None and previous.end + 1 == token.start:
            both = previous.text + token.text
            if right := OPERATORS.get(both):
                yield f"{both} is no operator; write {right}", previous.start
        previous = token
