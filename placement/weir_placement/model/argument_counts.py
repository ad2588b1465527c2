"""How many arguments a function takes at most: sqlglot leaves out, or keeps apart, some that are too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from weir_placement.model.functions import FUNCTIONS, NAMED, Function
from weir_placement.model.types import PLAIN

_OTHER_NAMES = {
    # what sqlglot and Spark also call a function, and functions that the writer has a method for -> arguments
    **dict.fromkeys(("ceiling", "char_length", "character_length", "len", "to_date", "dayofmonth"), 1),
    "to_timestamp": 1,
    **dict.fromkeys(("ucase", "lcase", "signum", "timestamp_ltz", "integer", "long", "short"), 1),
    **dict.fromkeys(("date_to_date_str", "time_to_time_str", "ts_or_ds_to_date", "ts_or_ds_to_date_str"), 1),
    **dict.fromkeys(("pow", "round", "date_trunc", "mod", "div", "extract"), 2),
    **dict.fromkeys(("position", "locate", "charindex", "strpos", "str_position"), 2),
    **dict.fromkeys(("if", "substr"), 3),
}


def _most(function: Function) -> int:
    has_bounds = "*" in function.keys or not function.keys
    return function.maximum if has_bounds else len(function.keys.split())


MOST = {
    **{name.lower(): 1 for name in PLAIN if name != "DECIMAL"},  # casts, as in int(x)
    **{function.name: _most(function) for function in (*FUNCTIONS.values(), *NAMED.values())},
    **_OTHER_NAMES,
}
"""By the name of a function in lower case."""


def too_many_arguments(tokens: Sequence[Any]) -> Iterator[tuple[str, int]]:
    """(message, offset) of each call with more arguments than its function takes."""
    for i, (name, following) in enumerate(pairwise(tokens)):
        most = MOST.get(name.text.lower()) if name.token_type.name != "STRING" else None
        if most is None or following.text != "(" or following.token_type.name != "L_PAREN":
            continue
        count = _arguments(tokens[i + 2 :])
        if count > most:
            arguments = "argument" if most == 1 else "arguments"
            yield f"{name.text} takes at most {most} {arguments}, and has {count} here", name.start


def _arguments(tokens: Sequence[Any]) -> int:
    """How many are written before the parenthesis closes that is open at the first token."""
    depth, count = 1, 1
    for token in tokens:
        kind = token.token_type.name
        depth += (kind in ("L_PAREN", "L_BRACKET")) - (kind in ("R_PAREN", "R_BRACKET"))
        if not depth:
            return count
        count += depth == 1 and kind == "COMMA"
    return count
