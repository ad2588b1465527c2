"""From an expression's text to sqlglot's tree: what is refused before parsing, and errors with their places.

sqlglot is imported when the first expression is parsed, not before.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from weir_placement.model import syntax_errors
from weir_placement.model.argument_counts import too_many_arguments
from weir_placement.model.odd_signs import refused_signs

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

MAX_CHARACTERS = 16 * 1024
MAX_DEPTH = 100


class ExpressionError(ValueError):
    """What is wrong with an expression or a statement, and where (1-based line and column)."""

    def __init__(self, message: str, text: str = "", offset: int | None = None) -> None:
        self.reason = message
        self.others: tuple[ExpressionError, ...] = ()  # what else is wrong with the same text
        self.line = self.column = 0
        if offset is not None:
            before = text[:offset]
            self.line = before.count("\n") + 1
            self.column = offset - (before.rfind("\n") + 1) + 1
        place = f"line {self.line}, column {self.column}: " if self.line else ""
        super().__init__(f"{place}{message}")


@lru_cache(maxsize=4096)
def parse_tree(text: str) -> Node:
    """sqlglot's tree of one expression, unchecked.

    Raises:
        ExpressionError: it cannot be parsed.
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    check_text(text)
    try:
        tree = cast("Node", parse_one(text, read="spark", into=exp.Condition))
    except (SqlglotError, RecursionError) as error:
        raise parse_error(error, text, "an expression") from None
    return tree


class UnknownColumn(ExpressionError):
    """No source has a column of this name."""

    def __init__(self, name: str, message: str, text: str, offset: int | None) -> None:
        super().__init__(message, text, offset)
        self.name = name


def together(errors: Iterable[ExpressionError]) -> ExpressionError:
    """All errors in a text as one, in the order of their places."""
    first, *others = sorted(errors, key=lambda error: (error.line, error.column))
    first.others = tuple(others)
    return first


def parse_error(error: Exception, text: str, expected: str) -> ExpressionError:
    """What is wrong with a text that is not what was `expected`, with the place of the token."""
    from sqlglot import Dialect

    details = (getattr(error, "errors", None) or [{}])[-1]
    line, column = details.get("line"), details.get("col")
    offset = len(text)
    if line and column is not None:
        lines = text.splitlines(keepends=True)
        end = sum(len(part) for part in lines[: line - 1]) + column
        offset = max(0, end - len(details.get("highlight") or ""))
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    reason, offset = syntax_errors.wording(details, tokens, offset)
    return ExpressionError(f"this is not {expected}: {reason}", text, offset)


def check_text(text: str) -> None:
    """What is refused before parsing: too long or too deep, control characters, backslashes, doubled quotes.

    Raises:
        ExpressionError: with the place.
    """
    from sqlglot import Dialect, TokenType
    from sqlglot.errors import SqlglotError

    if not text.strip():
        raise ExpressionError("empty", text, 0)
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"{len(text)} characters; at most {MAX_CHARACTERS} are allowed")
    for offset, character in enumerate(text):
        if character == "\\":
            beside_quote = text[offset + 1 : offset + 2] in ("'", '"')
            right = '; write "it\'s" for a quote in a string' if beside_quote else ""
            raise ExpressionError(f"a backslash is not supported{right}", text, offset)
        if (ord(character) < 32 and character not in "\n\r\t") or 0xD800 <= ord(character) < 0xE000:
            raise ExpressionError(f"a control character (code {ord(character)}) is not allowed", text, offset)
    try:
        tokens = Dialect.get_or_raise("spark").tokenize(text)
    except SqlglotError as error:
        message = "a string or a quoted name is not closed"
        opened = syntax_errors.unclosed(text)
        raise ExpressionError(message if opened is not None else str(error), text, opened) from None
    commas = syntax_errors.commas_between_conditions(tokens)
    for message, offset in (*refused_signs(tokens), *too_many_arguments(tokens), *commas):
        raise ExpressionError(message, text, offset)
    depth = 0
    for previous, token in zip([None, *tokens], tokens, strict=False):
        depth += {TokenType.L_PAREN: 1, TokenType.CASE: 1, TokenType.R_PAREN: -1, TokenType.END: -1}.get(
            token.token_type, 0
        )
        if depth > MAX_DEPTH:
            raise ExpressionError(f"parentheses nested more than {MAX_DEPTH} deep", text, token.start)
        if previous and previous.token_type == token.token_type == TokenType.STRING:
            raise ExpressionError(
                'two strings side by side; write "it\'s" for a quote in a string', text, token.start
            )


def place_of(node: Node) -> int | None:
    """Where a node begins in the text, or what it is part of, as far as sqlglot says."""
    here = cast("Node | None", node)
    while here is not None:
        starts: list[int] = [n.meta["start"] for n in here.walk() if "start" in n.meta]
        if starts:
            return min(starts)
        here = cast("Node | None", here.parent)
    return None
