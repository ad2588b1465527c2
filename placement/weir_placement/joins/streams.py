"""The streams of a multi-way window join and the cost of one step (NOS, section 2.2, equations 1 to 3).

Costs are those of the unit-time model of NOS: seconds of work for what arrives in one second, over all nodes
and links together. A step joins the flow of a chain with the window of one more stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

LEAST_STREAMS, MOST_STREAMS = 2, 10


@dataclass(frozen=True)
class StepCosts:
    """What work and links cost; all links are alike, as in NOS.

    Attributes:
        probe: c_p [s], to compare one tuple with one tuple of a window.
        update: c_u [s], to put one tuple into a window and to take an expired one out.
        latency: c_l [s], of a link.
        bandwidth: c_r [bytes/s], of a link.

    Raises:
        ValueError: a cost is negative or no number, or the bandwidth is not above 0.
    """

    probe: float
    update: float
    latency: float
    bandwidth: float

    def __post_init__(self) -> None:
        for field in ("probe", "update", "latency"):
            _within(f"step costs: {field}", getattr(self, field), 0.0, inf)
        if not self.bandwidth > 0.0:
            raise ValueError(f"step costs: bandwidth is {self.bandwidth:g}; it must be above 0 bytes/s")

    def shipping(self, rate: float, size: float) -> float:
        """T(x) = c_l + x / c_r [s/s] for x = rate [tuples/s] times size [bytes] in each second."""
        return self.latency + rate * size / self.bandwidth


@dataclass(frozen=True)
class JoinStream:
    """A stream S_i that enters at its own node N_i, with its statistics (NOS, table 1).

    Attributes:
        name: what messages call it.
        rate: r_i [tuples/s].
        selectivity: f_i [fraction], the average part of its tuples that have the same join value.
        size: t_i [bytes] of a tuple.
        window: w_i [tuples], how many its window has; after a change of rate it lags behind rate times
            seconds.

    Raises:
        ValueError: the window is unbounded, or a number is out of its range.
    """

    name: str
    rate: float
    selectivity: float
    size: float
    window: float

    def __post_init__(self) -> None:
        if self.window == inf:
            raise ValueError(
                f"stream {self.name}: its window is unbounded; a multi-way window join needs a finite window "
                "on every stream"
            )
        _within(f"stream {self.name}: rate", self.rate, 0.0, inf)
        _within(f"stream {self.name}: selectivity", self.selectivity, 0.0, 1.0)
        _within(f"stream {self.name}: size", self.size, 0.0, inf)
        _within(f"stream {self.name}: window", self.window, 0.0, inf)


def windowed(name: str, rate: float, selectivity: float, size: float, seconds: float) -> JoinStream:
    """A stream in its steady state: a window of `seconds` has rate times seconds tuples.

    Raises:
        ValueError: as JoinStream; `seconds` may be infinite only to be refused.
    """
    return JoinStream(name, rate, selectivity, size, inf if seconds == inf else rate * seconds)


@dataclass(frozen=True)
class MultiwayJoin:
    """S_1 join ... join S_m: one stream a node, a fully connected network, a finite window on each stream.

    Raises:
        ValueError: fewer than 2 or more than 10 streams, or two of one name.
    """

    streams: tuple[JoinStream, ...]
    costs: StepCosts

    def __post_init__(self) -> None:
        names = [stream.name for stream in self.streams]
        if not LEAST_STREAMS <= len(names) <= MOST_STREAMS:
            raise ValueError(
                f"multi-way join of {len(names)} streams ({', '.join(names)}): from {LEAST_STREAMS} to "
                f"{MOST_STREAMS} are planned; join some of them first"
            )
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"multi-way join: stream {twice[0]} is given twice; a stream is joined once")

    @property
    def width(self) -> int:
        """m, the number of streams."""
        return len(self.streams)

    def changed(self, index: int, stream: JoinStream) -> MultiwayJoin:
        """The same join with other statistics for one stream."""
        return MultiwayJoin((*self.streams[:index], stream, *self.streams[index + 1 :]), self.costs)


class Partial(NamedTuple):
    """S^i_k, what a chain carries after k steps: r [tuples/s], f [fraction], t [bytes]."""

    rate: float
    selectivity: float
    size: float

    def joined(self, stream: JoinStream) -> Partial:
        """After one more step: r' = r min(f, f_k) w_k, f' = max(f, f_k), t' = t + t_k (section 2.2).

        As min(a, b) max(a, b) = a b, what is carried does not depend on the order of the steps before.

        >>> flow = source(windowed("A", 100, 0.01, 150, 0.5)).joined(windowed("B", 40, 0.02, 50, 0.5))
        >>> flow
        Partial(rate=20.0, selectivity=0.02, size=200)
        """
        matches = min(self.selectivity, stream.selectivity) * stream.window
        return Partial(
            self.rate * matches, max(self.selectivity, stream.selectivity), self.size + stream.size
        )


def source(stream: JoinStream) -> Partial:
    """S^i_0 = S_i, what the chain of a head stream begins with."""
    return Partial(stream.rate, stream.selectivity, stream.size)


class StepCost(NamedTuple):
    """C [s/s] of a step by equation 3, and its placement bit: 0 at the source, 1 at the destination."""

    cost: float
    bit: int


def placed_cost(flow: Partial, stream: JoinStream, bit: int, costs: StepCosts) -> float:
    """C [s/s] of the step that joins a flow with a stream's window: equation 1 for bit 0, equation 2 for 1.

    Bit 0 ships the stream to the flow, bit 1 the flow to the stream; both update and probe the window.
    """
    shipped = costs.shipping(flow.rate, flow.size) if bit else costs.shipping(stream.rate, stream.size)
    return shipped + stream.rate * costs.update + flow.rate * costs.probe * stream.window


def step_cost(flow: Partial, stream: JoinStream, costs: StepCosts) -> StepCost:
    """Equation 3: the cheaper placement, the source where both cost the same. O(1)."""
    at_source = placed_cost(flow, stream, 0, costs)
    at_destination = placed_cost(flow, stream, 1, costs)
    return StepCost(at_source, 0) if at_source <= at_destination else StepCost(at_destination, 1)


def _within(what: str, value: float, low: float, high: float) -> None:
    if not (isfinite(value) and low <= value <= high):
        limit = f"from {low:g} to {high:g}" if isfinite(high) else f"finite and at least {low:g}"
        raise ValueError(f"{what} is {value:g}; it must be {limit}")
