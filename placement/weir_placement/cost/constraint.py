"""What bounds a plan, and why one cannot be carried out: as values. Their texts are for people and never read
back."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, Protocol

Resource = Literal["cpu", "memory", "egress", "ingress", "bandwidth", "latency"]


class Growing(Protocol):
    """An increasing function of x: a `Load`, or the `Delay` of a path."""

    def __call__(self, x: float, /) -> float: ...

    def root(self, capacity: float) -> float:
        """The largest x with a value of at most `capacity`; inf if every x, -1 if not even x = 0."""
        ...


def share_of(value: float, limit: float) -> float:
    """The share of a limit; inf of one that is 0."""
    return value / limit if limit > 0 else inf


@dataclass(frozen=True, slots=True)
class Constraint:
    """One increasing function of x with its capacity, at one point of the profile."""

    resource: Resource
    nodes: tuple[str, ...]  # the node, or the two ends of the link
    unit: str
    load: Growing
    capacity: float
    point: int
    query: str = ""  # whose latency it is

    @property
    def place(self) -> str:
        """`node n2`, `link n1 -> n2`, or `query d/q`."""
        if self.query:
            return f"query {self.query}"
        return f"{'node' if len(self.nodes) == 1 else 'link'} {' -> '.join(self.nodes)}"

    @property
    def name(self) -> str:
        """`cpu of node n2`."""
        return f"{self.resource} of {self.place}"

    @property
    def root(self) -> float:
        """The largest x that it allows; -1: not even x = 0."""
        return self.load.root(self.capacity)

    @property
    def share(self) -> float:
        """Load at the profile (x = 1) over the capacity."""
        return share_of(self.load(1.0), self.capacity)

    def __str__(self) -> str:
        if self.share == inf:
            return f"{self.name}, of which there is none"
        return f"{self.name} at {100 * self.share:.0f} %"


@dataclass(frozen=True, slots=True)
class Reason:
    """A bound that a plan does not keep."""

    resource: str  # "cpu", "latency", "placement", "budget", ...
    place: str  # "node n2", "link n1 -> n2", "query d/q", "operator d/q/f"
    share: float  # what is needed over what is allowed; inf when nothing is
    text: str  # with the numbers

    @property
    def subject(self) -> str:
        """What it is about, without the numbers.

        >>> Reason("cpu", "node n1", 2.0, "cpu of node n1 is 2 cores, over its capacity of 1").subject
        'cpu of node n1'
        """
        return f"{self.resource} of {self.place}"

    def __str__(self) -> str:
        return self.text
