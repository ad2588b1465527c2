"""How many plans were looked at: counted where they are compared, whoever asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Count:
    """Plans, or parts of plans, that were compared with another."""

    plans: int = 0


_COUNT: ContextVar[Count | None] = ContextVar("count", default=None)


@contextmanager
def counting(count: Count) -> Iterator[None]:
    """What is `compared` within is added to `count`, and to no other."""
    token = _COUNT.set(count)
    try:
        yield
    finally:
        _COUNT.reset(token)


def compared(plans: int) -> None:
    """So many plans, or parts of plans, were compared."""
    count = _COUNT.get()
    if count is not None:
        count.plans += plans
