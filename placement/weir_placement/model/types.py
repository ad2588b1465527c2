"""Spark's plain column types: names, sizes, and the type of a mixed operation.

Only types that every file format and every operator here can carry: no arrays, maps, structs,
variants or intervals. The rules are those of Spark with `spark.sql.ansi.enabled=false`, where every
expression is total: a division by zero or a cast that fails is null, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from weir_placement.model.streams import Column
from weir_placement.model.suggestion import near

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
FLOATS = ("FLOAT", "DOUBLE")
_DECIMAL_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
_MAX_DIGITS = 38
_SYNONYMS = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
    "TIMESTAMP_LTZ": "TIMESTAMP",
}
_MEANT = {
    # types of other systems -> what to write here
    "TEXT": "STRING", "VARCHAR": "STRING", "CHAR": "STRING", "CHARACTER": "STRING", "UUID": "STRING",
    "DATETIME": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP", "BOOL": "BOOLEAN", "NUMBER": "DECIMAL(p,s)",
    "INT8": "TINYINT", "INT16": "SMALLINT", "INT32": "INT", "INT64": "BIGINT", "UINT64": "DECIMAL(20,0)",
    "FLOAT32": "FLOAT", "FLOAT64": "DOUBLE", "BYTES": "BINARY", "BLOB": "BINARY",
}  # fmt: skip
_BYTES = {
    "BOOLEAN": 1.0,
    "TINYINT": 1.0,
    "SMALLINT": 2.0,
    "INT": 4.0,
    "BIGINT": 8.0,
    "FLOAT": 4.0,
    "DOUBLE": 8.0,
    "STRING": 16.0,  # a guess: strings in events are mostly codes and names
    "BINARY": 32.0,  # a guess
    "DATE": 4.0,
    "TIMESTAMP": 8.0,
    "TIMESTAMP_NTZ": 8.0,
}
PLAIN = (*_BYTES, "DECIMAL")
"""Names of the types."""
_TYPE = re.compile(r"\s*([A-Za-z_]+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")

ROW_COLUMNS = ("_id", "_clock")
"""What a reader puts beside the columns of a stream."""
_HIDDEN = re.compile(r"_(time|id|any)(_[lr])?|_clock|_window|_[tv]_.*", re.IGNORECASE)


def is_hidden(name: str) -> bool:
    """Whether the runtime has columns of this name, in any case, beside those of the operators.

    >>> is_hidden("_ID"), is_hidden("_t_bids"), is_hidden("_source")
    (True, True, False)
    """
    return _HIDDEN.fullmatch(name) is not None


def normalise(text: str) -> str:
    """The one spelling of a plain type: `integer` -> `INT`, `decimal(10)` -> `DECIMAL(10,0)`.

    Raises:
        ValueError: not a plain type.
    """
    match = _TYPE.fullmatch(text)
    name = match[1].upper() if match else text.strip()
    name = _SYNONYMS.get(name, name)
    if match and name == "DECIMAL":
        precision, scale = int(match[2] or 10), int(match[3] or 0)
        if not 1 <= precision <= _MAX_DIGITS or scale > precision:
            raise ValueError(
                f"DECIMAL({precision},{scale}): give 1 to {_MAX_DIGITS} digits, the scale among them"
            )
        return f"DECIMAL({precision},{scale})"
    if match is None or match[2] is not None or name not in _BYTES:
        meant = match and (_MEANT.get(name) or near(name, PLAIN))
        right = f"write {meant}" if meant else f"use one of {', '.join(_BYTES)} or DECIMAL(p,s)"
        first, _, rest = text.strip().partition(" ")
        if rest and (first.upper() in _BYTES or first.upper() in _SYNONYMS):
            right = f"is a comma missing: {first}, {rest.strip()}?"
        raise ValueError(f"{text.strip()!r} is not a plain type; {right}")
    return name


def type_bytes(name: str) -> float:
    """Estimated bytes of a value of a normalised type."""
    if name.startswith("DECIMAL"):
        return 8.0 if decimal_digits(name)[0] <= 18 else 16.0
    return _BYTES[name]


def family(name: str) -> str:
    """`number`, or the type itself: values compare only within their family."""
    if name in INTEGERS or name in FLOATS or name.startswith("DECIMAL"):
        return "number"
    return name


def with_article(name: str) -> str:
    """
    >>> with_article("INT"), with_article("DOUBLE")
    ('an INT', 'a DOUBLE')
    """
    return f"{'an' if name[:1] in 'AEIO' else 'a'} {name}"


def decimal_digits(name: str) -> tuple[int, int]:
    """(precision, scale) of a decimal, or of the decimal that holds every value of an integer."""
    if name in _DECIMAL_DIGITS:
        return _DECIMAL_DIGITS[name], 0
    precision, scale = name[len("DECIMAL(") : -1].split(",")
    return int(precision), int(scale)


def common(names: Iterable[str]) -> str:
    """The type that values of all the (normalised) types widen to, as in CASE or COALESCE.

    Raises:
        ValueError: types of different families.
    """
    result = ""
    for name in names:
        result = _wider(result, name) if result else name
    return result


def _wider(a: str, b: str) -> str:
    if a == b or b == "NULL":
        return a
    if a == "NULL":
        return b
    if family(a) != "number" or family(b) != "number":
        raise ValueError(f"{a} and {b} cannot be mixed")
    if a in FLOATS or b in FLOATS:
        both_small = {a, b} <= {"FLOAT", *INTEGERS}
        return "FLOAT" if both_small else "DOUBLE"
    if a in INTEGERS and b in INTEGERS:
        return max(a, b, key=INTEGERS.index)
    (p1, s1), (p2, s2) = decimal_digits(a), decimal_digits(b)
    scale = max(s1, s2)
    return _bounded(max(p1 - s1, p2 - s2) + scale, scale)


def _bounded(precision: int, scale: int) -> str:
    """Spark's type for a wider decimal than fits: digits cut from both ends."""
    return f"DECIMAL({min(precision, _MAX_DIGITS)},{min(scale, _MAX_DIGITS)})"


def arithmetic(operator: str, a: str, b: str) -> str:
    """The type of `a operator b` for + - * / % div over numbers, as Spark computes it.

    Raises:
        ValueError: not numbers.
    """
    for name in (a, b):
        if name != "NULL" and family(name) != "number":
            raise ValueError(f"{operator} needs numbers, not {name}")
        if operator == "div" and name not in (*INTEGERS, "NULL"):
            raise ValueError(f"div needs whole numbers, not {name}; write floor(a / b)")
    if "NULL" in (a, b):
        return arithmetic(operator, b if a == "NULL" else a, "INT") if a != b else "DOUBLE"
    if operator == "div":
        return "BIGINT"
    if a in FLOATS or b in FLOATS or (operator == "/" and a in INTEGERS and b in INTEGERS):
        return "DOUBLE" if operator == "/" else common((a, b))
    if a in INTEGERS and b in INTEGERS:
        return common((a, b))
    return _decimal_arithmetic(operator, *decimal_digits(a), *decimal_digits(b))


def _decimal_arithmetic(operator: str, p1: int, s1: int, p2: int, s2: int) -> str:
    if operator == "*":
        precision, scale = p1 + p2 + 1, s1 + s2
    elif operator == "/":
        scale = max(6, s1 + p2 + 1)
        precision = p1 - s1 + s2 + scale
    elif operator == "%":
        scale = max(s1, s2)
        precision = min(p1 - s1, p2 - s2) + scale
    else:
        scale = max(s1, s2)
        precision = max(p1 - s1, p2 - s2) + scale + 1
    if precision <= _MAX_DIGITS:
        return f"DECIMAL({precision},{scale})"
    new_scale = max(_MAX_DIGITS - (precision - scale), min(scale, 6))
    return f"DECIMAL({_MAX_DIGITS},{new_scale})"


def parse_schema(ddl: str) -> tuple[Column, ...]:
    """Columns of a stream's schema, `auction BIGINT, price DOUBLE, ts TIMESTAMP`.

    `NOT NULL` is read and has no effect; nothing of the text is passed on but names and types.

    Raises:
        ValueError: a column that is not `name TYPE`, a type that is not plain, a name twice; the
            message gives the column's text.
    """
    columns: list[Column] = []
    lower_names: set[str] = set()
    for part in re.split(r",(?![^()]*\))", ddl):
        words = part.split(None, 1)
        name = words[0].strip("`:").rstrip(":") if words else ""
        if len(words) > 1 and not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a column's name; write letters a-z, digits and _")
        if len(words) < 2 or not NAME.fullmatch(name):
            raise ValueError(f"{part.strip()!r} is not a column; write: name TYPE, name TYPE")
        kind = re.sub(r"\s+NOT\s+NULL\s*$", "", words[1], flags=re.IGNORECASE)
        try:
            type_name = normalise(kind)
        except ValueError as error:
            if name.upper() in PLAIN and NAME.fullmatch(kind):
                raise ValueError(f"{part.strip()!r} has the type first; write {kind} {name}") from None
            raise ValueError(f"column {name}: {error}") from None
        if name.lower() in lower_names:
            raise ValueError(f"column {name} is given twice (names must differ in more than case)")
        if name.lower() in ROW_COLUMNS:
            raise ValueError(f"column {name}: the name is reserved for readers; leave it out or rename it")
        lower_names.add(name.lower())
        columns.append(Column(name, type_name, type_bytes(type_name)))
    return tuple(columns)
