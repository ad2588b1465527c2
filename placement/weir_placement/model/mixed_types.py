"""What is said of values whose types do not go together: each with its type, and what to write."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weir_placement.model.types import INTEGERS, family

Operand = tuple[str, str]
"""Text and type."""

_NUMBER = re.compile(r"'(-?\d+(\.\d+)?)'")
_TIME = re.compile(r"'\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?'")
_DATE = re.compile(r"CAST\(('\d{4}-\d\d-\d\d') AS DATE\)")
_LITERALS = {
    # type that a constant should have -> how one is written
    "TIMESTAMP": "TIMESTAMP '2026-01-31 12:00:00'",
    "DATE": "DATE '2026-01-31'",
    "BOOLEAN": "TRUE or FALSE",
}


def typed(*values: Operand) -> str:
    """
    >>> typed(("r.sensor", "STRING"), ("5", "INT"))
    'r.sensor (STRING) with 5 (INT)'
    """
    return " with ".join(f"{shortened(text)} ({kind})" for text, kind in values)


def first_two(values: Sequence[Operand]) -> tuple[Operand, Operand] | None:
    """Two whose families differ, of which the first is no constant where there is such a one."""
    typed_ones = [value for value in values if value[1] not in ("", "NULL")]
    if not typed_ones:
        return None
    first = next((value for value in typed_ones if not _is_constant(value[0])), typed_ones[0])
    other = next((value for value in typed_ones if family(value[1]) != family(first[1])), None)
    return (first, other) if other else None


def as_one_type(first: Operand, other: Operand) -> str:
    """What to write, so that they are of one family.

    >>> as_one_type(("r.sensor", "STRING"), ("5", "INT"))
    "write '5'"
    >>> as_one_type(("r.temperature", "DOUBLE"), ("'30'", "STRING"))
    'write 30, without quotes'
    >>> as_one_type(("r.sensor", "STRING"), ("r.temperature", "DOUBLE"))
    'write CAST(r.sensor AS DOUBLE)'
    """
    if _is_constant(other[0]):
        if other[1] == "STRING" and _is_constant(first[0]) and not _NUMBER.fullmatch(other[0]):
            return f"write {_constant(first[0], 'STRING')}"
        return f"write {_constant(other[0], first[1])}"
    return f"write {_cast(first, other)}"


def as_number(value: Operand) -> str:
    """What to write for a value of another type where a number is needed; "" where nothing would do."""
    text, kind = value
    if kind == "STRING":
        number = _NUMBER.fullmatch(text)
        return f"{number[1]}, without quotes" if number else f"CAST({shortened(text)} AS DOUBLE)"
    return f"unix_micros({shortened(text)})" if kind == "TIMESTAMP" else ""


def shortened(text: str) -> str:
    """At most 60 characters of an expression."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_constant(text: str) -> bool:
    return re.fullmatch(r"'.*'|-?[\d.]+(E-?\d+)?|TRUE|FALSE", text, re.DOTALL) is not None


def _constant(text: str, kind: str) -> str:
    """A constant as it is written in another type."""
    if kind in _LITERALS:
        return f"{kind} {text}" if kind != "BOOLEAN" and _TIME.fullmatch(text) else _LITERALS[kind]
    if kind == "STRING":
        return f"'{text}'"
    if family(kind) == "number":
        number = _NUMBER.fullmatch(text)
        example = "5" if kind in INTEGERS else "5.5"
        return f"{number[1]}, without quotes" if number else f"a number, such as {example}"
    return f"CAST({shortened(text)} AS {kind})"


def _cast(one: Operand, other: Operand) -> str:
    """A STRING becomes what it is compared with, a DATE a TIMESTAMP, a TIMESTAMP a number."""
    kinds = {one[1]: one[0], other[1]: other[0]}
    number = next((kind for kind in kinds if family(kind) == "number"), "")
    if "STRING" in kinds:
        target = next(kind for kind in kinds if kind != "STRING")
        return f"CAST({shortened(kinds['STRING'])} AS {target})"
    if number and "TIMESTAMP" in kinds:
        return f"unix_seconds({shortened(kinds['TIMESTAMP'])}) for the number of seconds since 1970"
    if "DATE" in kinds and any(kind.startswith("TIMESTAMP") for kind in kinds):
        target = next(kind for kind in kinds if kind != "DATE")
        if written := _DATE.fullmatch(kinds["DATE"]):
            return f"TIMESTAMP {written[1]}"
        return f"CAST({shortened(kinds['DATE'])} AS {target})"
    return f"CAST({shortened(other[0])} AS {one[1]})"
