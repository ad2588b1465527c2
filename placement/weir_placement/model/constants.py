"""Constants as texts that a cast cannot read, which is then NULL, or another value each day."""

from __future__ import annotations

import re
from calendar import monthrange

from weir_placement.model.types import FLOATS, INTEGERS, type_bytes

_SPACES = " \t\n\r"
_DATE = re.compile(r"[+-]?(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](.*))?)?)?", re.DOTALL)
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}))?)?(?!\d)", re.DOTALL)
_ONLY_CLOCK = re.compile(r"T?\d{1,2}:\d{1,2}.*", re.DOTALL)
_MOVING = ("now", "today", "yesterday", "tomorrow")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FLOAT = re.compile(rf"({_NUMBER.pattern})[fFdD]?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_TRUTHS = ("t", "true", "y", "yes", "1", "f", "false", "n", "no", "0")
_TIMES = {
    "DATE": "DATE '2026-01-31'",
    "TIMESTAMP": "TIMESTAMP '2026-01-31 12:00:00'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ '2026-01-31 12:00:00'",
}


def wrong_constant(text: str, kind: str) -> str:
    """What is wrong with a text as a constant of a normalised type, and what would be right; "" for a good
    one, and for one that may be good: only what Spark certainly cannot read is told.

    >>> wrong_constant("2026-02-30", "DATE")
    "'2026-02-30' is no DATE, so this would be NULL; write DATE '2026-01-31'"
    >>> wrong_constant("99999999999", "INT")
    "'99999999999' does not fit INT, so this would be NULL; write BIGINT"
    >>> wrong_constant("2026-01-31T12:00:00Z", "TIMESTAMP"), wrong_constant(" 5.7 ", "INT")
    ('', '')
    """
    bare = text.strip(_SPACES)
    if kind in _TIMES:
        if bare.lower() in _MOVING or (kind != "DATE" and _ONLY_CLOCK.fullmatch(bare)):
            wrong = f"'{text}' is another time each day, so a replay would change the result"
            return f"{wrong}; write {_TIMES[kind]}"
        good = bare.lower() == "epoch" or _is_time(bare, kind)
        return "" if good else f"'{text}' is no {kind}, so this would be NULL; write {_TIMES[kind]}"
    if kind == "BOOLEAN":
        return (
            ""
            if bare.lower() in _TRUTHS
            else f"'{text}' is no BOOLEAN, so this would be NULL; write TRUE or FALSE"
        )
    if kind in INTEGERS:
        return _wrong_integer(text, bare, kind)
    form = _FLOAT if kind in FLOATS else _NUMBER if kind.startswith("DECIMAL") else None
    good = form is None or form.fullmatch(bare) is not None
    return "" if good else f"'{text}' is no {kind}, so this would be NULL; write a number, such as 5.5"


def _wrong_integer(text: str, bare: str, kind: str) -> str:
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d*)", bare) or not any(c.isdigit() for c in bare):
        return f"'{text}' is no {kind}, so this would be NULL; write a whole number, such as 5"
    value, most = int(bare.partition(".")[0].rstrip("+-") or 0), 2 ** (8 * int(type_bytes(kind)) - 1)
    if -most <= value < most:
        return ""
    wider = "BIGINT" if -(2**63) <= value < 2**63 else "DECIMAL(38,0)"
    return f"'{text}' does not fit {kind}, so this would be NULL; write {wider}"


def _is_time(text: str, kind: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(2000 + year % 400, month)[1]:
        return False
    if match[4] is None or kind == "DATE":
        return True
    clock = _CLOCK.match(match[4])
    return (
        clock is not None and int(clock[1]) < 24 and all(int(part or 0) < 60 for part in clock.groups()[1:])
    )
