"""Hints of a statement: what its writer knows of the rows, as `/*+ SELECTIVITY(b, 0.1) */` after SELECT.

They change estimates alone, and so plans, never rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.suggestion import suggestion

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

OPENING = "/*+"
EXAMPLE = "/*+ SELECTIVITY(0.1) */"
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class HintedShare:
    """The share of a stream's rows that its conditions keep, and where the hint says so."""

    value: float
    offset: int


def places(sql: str) -> list[int]:
    """Where the hints of a statement begin, in their order.

    Raises:
        ExpressionError: a hint that is not after SELECT: elsewhere it would be a comment.
    """
    if OPENING not in sql:
        return []
    from sqlglot import Dialect, TokenType

    tokens = Dialect.get_or_raise("spark").tokenize(sql)
    ends = [-1, *(token.end for token in tokens)]
    begins = [*(token.start for token in tokens), len(sql)]
    for end, begin in zip(ends, begins, strict=True):
        for comment in _COMMENT.finditer(sql, end + 1, begin):
            if comment[0].startswith(OPENING):
                raise _misplaced(sql, comment.start())
    kinds = [None, *(token.token_type for token in tokens)]
    for before, token in zip(kinds, tokens, strict=False):
        if token.token_type == TokenType.HINT:
            if before != TokenType.SELECT:
                raise _misplaced(sql, token.start)
            if not token.text.strip("/*+ \n\r\t"):
                raise ExpressionError(f"the hint is empty; write {EXAMPLE}", sql, token.start)
    return [token.start for token in tokens if token.token_type == TokenType.HINT]


def _misplaced(sql: str, offset: int) -> ExpressionError:
    return ExpressionError("a hint is written right after SELECT", sql, offset)


def shares(sql: str, hint: Node, place: int, aliases: Sequence[str]) -> dict[str, HintedShare]:
    """The shares that a hint gives, by alias of a stream in FROM; `place` is where the hint begins.

    Raises:
        ExpressionError: another hint, another form, no such stream, no share.
    """
    right = f"write {EXAMPLE}, or with a stream SELECTIVITY({aliases[0]}, 0.1)"
    result: dict[str, HintedShare] = {}
    for call in hint.expressions:
        name = getattr(call, "name", "")
        if type(call).__name__ not in ("Anonymous", "JoinHint"):  # what sqlglot could not parse
            raise ExpressionError(f"the hint cannot be read; {right}", sql, place)
        offset = place + len(OPENING) + call.meta.get("start", 1)
        if name.upper() != "SELECTIVITY":
            raise ExpressionError(
                f"the hint {name} is not supported: the planner decides; SELECTIVITY is", sql, offset
            )
        *streams, number = call.expressions or [call]
        if len(streams) > 1 or type(number).__name__ != "Literal" or number.is_string:
            raise ExpressionError(f"SELECTIVITY needs a share; {right}", sql, offset)
        at = place + len(OPENING) + number.meta["start"]
        value = float(number.this)
        if not 0 < value <= 1:
            raise ExpressionError(f"a selectivity is above 0 and at most 1, not {number.this}", sql, at)
        alias = _alias(sql, streams, place, aliases, at)
        if alias in result:
            raise ExpressionError(f"{alias} has two selectivities; keep one", sql, offset)
        result[alias] = HintedShare(value, at)
    return result


def _alias(sql: str, streams: Sequence[Node], place: int, aliases: Sequence[str], at: int) -> str:
    if not streams:
        if len(aliases) == 1:
            return aliases[0]
        raise ExpressionError(f"name the stream, as SELECTIVITY({aliases[0]}, 0.1)", sql, at)
    name = streams[0].name
    match = next((alias for alias in aliases if alias.lower() == name.lower()), "")
    if match:
        return match
    starts = [node.meta["start"] for node in streams[0].walk() if "start" in node.meta]
    offset = place + len(OPENING) + min(starts, default=0)
    right = suggestion(name, aliases, "streams")
    raise ExpressionError(f"there is no stream {name} in FROM; {right}", sql, offset)


def spread(share: float, estimates: Sequence[float]) -> list[float]:
    """Selectivities of conditions that keep `share` of the rows together: powers of their estimates, so that
    what is thought narrower stays so."""
    total = sum(log(estimate) for estimate in estimates)
    if not total:
        return [share ** (1 / len(estimates))] * len(estimates)
    return [share ** (log(estimate) / total) for estimate in estimates]
