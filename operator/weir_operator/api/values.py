"""Durations, quantities and bits/s, as Kubernetes users write them.

The models have plain floats in SI units ([s], [cores], [bytes], [bytes/s]); the text form exists
only in files. Every refusal says what is wrong and what would be right.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

_DURATION_PART = r"[0-9]+(\.[0-9]+)?(us|ms|s|m|h|d)"
DURATION_PATTERN = rf"^({_DURATION_PART})+$"
QUANTITY_PATTERN = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?$"

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SUFFIX = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip


def refuse(wrong: str, right: str) -> PydanticCustomError:
    """The error of every refused value: `wrong` is about the value, `right` says what to write instead."""
    return PydanticCustomError("weir", "{wrong}; {right}", {"wrong": wrong, "right": right})


def parse_duration(value: Any) -> float:
    """Seconds of `500ms`, `10s`, `5m`, `1h30m`.

    >>> parse_duration("500ms"), parse_duration("1m30s")
    (0.5, 90.0)
    """
    if isinstance(value, str) and value.startswith("-") and re.match(DURATION_PATTERN, value[1:]):
        raise refuse("is negative", "write a duration of at least 0s")
    if not isinstance(value, str) or not re.match(DURATION_PATTERN, value):
        raise refuse("is not a duration", "write it with its unit, such as 500ms, 10s or 5m")
    # Integers are multiplied before they are divided: 200us is then exactly 0.0002.
    return sum(_scaled(number, unit) for number, _, unit in re.findall(r"([0-9]+(\.[0-9]+)?)([a-z]+)", value))


def _scaled(number: str, unit: str) -> float:
    per_second = {"us": 1e6, "ms": 1e3}
    return float(number) / per_second[unit] if unit in per_second else float(number) * _SECONDS[unit]


def format_duration(seconds: float) -> str:
    """The shortest text with one unit that `parse_duration` reads back.

    >>> [format_duration(s) for s in (0.0, 0.0002, 0.5, 90.0, 300.0, 7200.0)]
    ['0s', '200us', '500ms', '90s', '5m', '2h']
    """
    if seconds == 0:
        return "0s"
    for unit in ("h", "m", "s", "ms", "us"):
        count = round(seconds / _SECONDS[unit], 6)
        if count >= 1 and count == int(count):
            return f"{int(count)}{unit}"
    return f"{round(seconds * 1e6, 6):f}".rstrip("0").rstrip(".") + "us"


NEGATIVE = "is negative"
LARGEST = 1e30
"""The largest quantity: calculations with more might overflow."""


def parse_quantity(value: Any) -> float:
    """A Kubernetes quantity that is not negative, in its base unit.

    >>> parse_quantity("500m"), parse_quantity("2Gi"), parse_quantity(3), parse_quantity("1e3")
    (0.5, 2147483648.0, 3.0, 1000.0)
    """
    if value != value:
        raise refuse("is not a number", "write a quantity such as 2, 500m or 8Gi")
    if isinstance(value, int | float) and value > LARGEST:
        raise refuse("is too large", "write a quantity of at most 1e30")
    if isinstance(value, float) and value != int(value):
        raise refuse(
            "is a bare fraction", f'write it in quotes ("{value:g}"), or in thousandths such as 500m'
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0:
            raise refuse(NEGATIVE, "write a quantity of at least 0")
        return float(value)
    match = re.match(QUANTITY_PATTERN, value) if isinstance(value, str) else None
    if not match:
        raise refuse(
            "is not a quantity", "write a number with or without a Kubernetes suffix, such as 2, 500m or 8Gi"
        )
    number, suffix = match[1], match[3] or ""
    if suffix[:1] in "eE" and len(suffix) > 1:
        amount = float(number + suffix)
        return parse_quantity(amount) if amount > LARGEST else amount  # which says that it is too large
    if suffix in ("n", "u", "m"):
        return float(number) / {"n": 1e9, "u": 1e6, "m": 1e3}[suffix]
    return float(number) * _SUFFIX[suffix]


def parse_count(value: Any) -> float:
    """A Kubernetes quantity of at least 1: so many things.

    >>> parse_count("2k")
    2000.0
    """
    try:
        count = parse_quantity(value)
    except PydanticCustomError as error:
        if (error.context or {}).get("wrong") != NEGATIVE:
            raise
        count = -1.0
    if count < 1:
        raise refuse("is less than 1", "write 1 or more")
    return count


def format_quantity(value: float) -> int | str:
    """The shortest quantity that `parse_quantity` reads back.

    >>> [format_quantity(v) for v in (3.0, 0.5, 2147483648.0, 1e9, 0.0)]
    [3, '500m', '2Gi', '1G', 0]
    """
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        if value >= _SUFFIX[suffix] and value % _SUFFIX[suffix] == 0:
            return f"{int(value / _SUFFIX[suffix])}{suffix}"
    for suffix in ("E", "P", "T", "G", "M"):
        if value >= _SUFFIX[suffix] and value % _SUFFIX[suffix] == 0:
            return f"{int(value / _SUFFIX[suffix])}{suffix}"
    if value == int(value):
        return int(value)
    for suffix in ("m", "u", "n"):
        count = round(value / _SUFFIX[suffix], 3)
        if count == int(count):
            return f"{int(count)}{suffix}"
    return f"{value:g}"


def parse_bits(value: Any) -> float:
    """Bytes a second of decimal bits a second.

    >>> parse_bits("100M")
    12500000.0
    """
    try:
        return parse_quantity(value) / 8.0
    except PydanticCustomError:
        raise refuse("is not a bandwidth in bits/s", "write a quantity such as 100M or 1G") from None


def format_bits(bytes_per_second: float) -> int | str:
    """Bits a second of bytes a second, with decimal suffixes.

    >>> format_bits(12_500_000.0)
    '100M'
    """
    bits = bytes_per_second * 8.0
    for suffix in ("T", "G", "M", "k"):
        if bits >= _SUFFIX[suffix] and bits % _SUFFIX[suffix] == 0:
            return f"{int(bits / _SUFFIX[suffix])}{suffix}"
    return format_quantity(bits)


_QUANTITY_SCHEMA = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": QUANTITY_PATTERN,
    "maxLength": 32,
    "x-kubernetes-int-or-string": True,
}

Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "maxLength": 32}),
]
"""[s]"""
Quantity = Annotated[
    float,
    BeforeValidator(parse_quantity),
    PlainSerializer(format_quantity, when_used="json"),
    WithJsonSchema(_QUANTITY_SCHEMA),
]
"""Cores, bytes, tuples a second: the field says which."""
Cardinality = Annotated[
    float,
    BeforeValidator(parse_count),
    PlainSerializer(format_quantity, when_used="json"),
    WithJsonSchema(_QUANTITY_SCHEMA),
]
"""Of things that are there: at least 1."""
Bits = Annotated[
    float,
    BeforeValidator(parse_bits),
    PlainSerializer(format_bits, when_used="json"),
    WithJsonSchema(_QUANTITY_SCHEMA),
]
"""Bits/s in files, [bytes/s] in the models."""
