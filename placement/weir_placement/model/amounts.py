"""Amounts in messages, in the units in which manifests have them."""

from __future__ import annotations

from math import ceil, floor, inf, log10


def enough(seconds: float) -> str:
    """What a limit of latency would have to be for a path that takes so long, rounded up; "" if none does.

    >>> enough(0.020022), enough(1.0), enough(119.2), enough(9.03e-06), enough(inf)
    ('; write at least 21ms', '; write at least 1s', '; write at least 120s', '; write at least 9.1us', '')
    """
    if not 0 < seconds < inf:
        return ""
    unit, size = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3)) if seconds >= s), ("us", 1e-6))
    amount = seconds / size
    step = 10.0 ** (floor(log10(amount)) - 1)
    return f"; write at least {ceil(amount / step * (1 - 1e-9)) * step:.6g}{unit}"


def count(number: float, noun: str) -> str:
    """
    >>> count(1, "node"), count(2.0, "node")
    ('1 node', '2 nodes')
    """
    return f"{number:.0f} {noun}" + ("" if number == 1 else "s")


def bits(bytes_per_second: float) -> str:
    """A bandwidth in bits a second, as people write it.

    >>> bits(6_250_000.0), bits(125.0), bits(0.05)
    ('50 Mbit/s', '1 kbit/s', '0.4 bit/s')
    """
    amount = bytes_per_second * 8.0
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size:
            return f"{amount / size:.6g} {prefix}bit/s"
    return f"{amount:.6g} bit/s"
