"""What users ask for: a stream, how much it matters, and how many hosts serve it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class StreamRequest:
    """A query: delta_s = 1 for its stream.

    Attributes:
        name: of the query; several may ask for one stream, which is made once.
        stream: the index of its result.
        priority: a query of a higher one is admitted before any number of lower ones.
        copies: how many hosts serve the stream, each a client's proxy (the paper's III.4b has one; the text
            after it says how to have several).

    Raises:
        ValueError: no host would serve it.
    """

    name: str
    stream: int
    priority: int = 0
    copies: int = 1

    def __post_init__(self) -> None:
        if self.copies < 1:
            raise ValueError(f"query {self.name}: copies is {self.copies}; it must be 1 or more")


@dataclass(frozen=True)
class Demand:
    """What all requests for one stream ask together: the highest priority, the most copies."""

    stream: int
    priority: int
    copies: int


def demands(requests: Iterable[StreamRequest]) -> list[Demand]:
    """One for each stream, in the order in which they are first asked for.

    >>> demands([StreamRequest("q", 7), StreamRequest("r", 7, priority=2), StreamRequest("s", 3)])
    [Demand(stream=7, priority=2, copies=1), Demand(stream=3, priority=0, copies=1)]
    """
    together: dict[int, Demand] = {}
    for request in requests:
        old = together.get(request.stream, Demand(request.stream, request.priority, request.copies))
        together[request.stream] = Demand(
            request.stream, max(old.priority, request.priority), max(old.copies, request.copies)
        )
    return list(together.values())
