"""Amounts in messages, in the units in which manifests have them."""

from __future__ import annotations


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
