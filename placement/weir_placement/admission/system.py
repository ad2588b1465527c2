"""What is given: hosts, streams, operators (SQPR, II.A, II.B), and what a query's plans may use (IV.A)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite

from weir_placement.array_types import Floats


@dataclass(frozen=True)
class HostResources:
    """A host and what it has.

    Attributes:
        cpu: zeta_h [CPU-us/s].
        memory: [bytes].
        egress: beta_h for what it sends to hosts and clients [bytes/s].
        ingress: beta_h for what it receives from hosts [bytes/s].
    """

    name: str
    cpu: float
    memory: float = inf
    egress: float = inf
    ingress: float = inf

    def __post_init__(self) -> None:
        for field in ("cpu", "memory", "egress", "ingress"):
            value = getattr(self, field)
            if not value >= 0:
                raise ValueError(f"host {self.name}: {field} is {value}; it must be 0 or more")


@dataclass(frozen=True)
class DataStream:
    """A base or composite stream: composite ones are what operators make.

    Attributes:
        rate: rho_s [bytes/s].
        origins: the hosts where a base stream enters (s is in S_h^0), none for a composite stream.
    """

    name: str
    rate: float
    origins: frozenset[int] = frozenset()


@dataclass(frozen=True)
class SharedOperator:
    """The triplet (S_o, s_o, gamma_o), and its memory.

    Attributes:
        inputs: S_o, indexes of streams.
        output: s_o, the index of the stream that it makes. Several operators may make one stream: which of
            them run is the choice between abstract plans.
        cpu: gamma_o [CPU-us/s].
        memory: [bytes].
    """

    inputs: tuple[int, ...]
    output: int
    cpu: float
    memory: float = 0.0


@dataclass(frozen=True)
class Related:
    """S(q) and O(q): what can appear in plans of some queries."""

    streams: frozenset[int]
    operators: frozenset[int]


@dataclass(frozen=True)
class StreamSystem:
    """Hosts, streams and operators, each known by its index.

    Two streams are one when the same operators made them from the same inputs (II.C), so no stream is made
    from itself; without that the paper's III.7 would not suffice, as it forbids circles of one stream's
    flows only.

    Attributes:
        bandwidth: kappa [bytes/s], shape (hosts, hosts), from row to column; None: no limit.

    Raises:
        ValueError: an index that there is not, a rate or cost that is negative or infinite, a stream that has
            origins and is made by operators, or streams that are made from one another.
    """

    hosts: tuple[HostResources, ...]
    streams: tuple[DataStream, ...]
    operators: tuple[SharedOperator, ...]
    bandwidth: Floats | None = None

    def __post_init__(self) -> None:
        count = len(self.hosts)
        if self.bandwidth is not None and self.bandwidth.shape != (count, count):
            raise ValueError(
                f"bandwidth has the shape {self.bandwidth.shape}; {count} hosts need {count, count}"
            )
        for stream in self.streams:
            if not (isfinite(stream.rate) and stream.rate >= 0):
                raise ValueError(f"stream {stream.name}: rate is {stream.rate}; it must be finite, 0 or more")
            if not stream.origins <= set(range(count)):
                raise ValueError(f"stream {stream.name}: origins are {set(stream.origins)} of {count} hosts")
        for number, operator in enumerate(self.operators):
            self._check(number, operator)
        self.depths  # noqa: B018  (raises where streams are made from one another)

    def _check(self, number: int, operator: SharedOperator) -> None:
        ends = {*operator.inputs, operator.output}
        if not operator.inputs or not ends <= set(range(len(self.streams))):
            raise ValueError(
                f"operator {number}: reads {operator.inputs} and makes {operator.output}; "
                f"it needs an input, and indexes of {len(self.streams)} streams"
            )
        for field in ("cpu", "memory"):
            value = getattr(operator, field)
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"operator {number}: {field} is {value}; it must be finite, 0 or more")
        output = self.streams[operator.output]
        if output.origins:
            raise ValueError(f"operator {number}: makes {output.name}, which is a base stream")

    def link(self, sender: int, receiver: int) -> float:
        """kappa from one host to another [bytes/s]."""
        return inf if self.bandwidth is None else float(self.bandwidth[sender, receiver])

    @cached_property
    def makers(self) -> tuple[tuple[int, ...], ...]:
        """By stream: the operators that make it."""
        makers: list[list[int]] = [[] for _ in self.streams]
        for number, operator in enumerate(self.operators):
            makers[operator.output].append(number)
        return tuple(map(tuple, makers))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """By stream: how many operators are on the longest way from base streams to it. O(S + O)."""
        depths = [-1] * len(self.streams)
        for first in range(len(self.streams)):
            stack = [(first, False)]
            below: set[int] = set()  # those whose inputs are being looked at
            while stack:
                stream, ready = stack.pop()
                inputs = {i for o in self.makers[stream] for i in self.operators[o].inputs}
                if ready:
                    below.discard(stream)
                    depths[stream] = max((1 + depths[i] for i in inputs), default=0)
                elif depths[stream] < 0:
                    if stream in below:
                        raise ValueError(f"stream {self.streams[stream].name} is made from itself")
                    below.add(stream)
                    stack.append((stream, True))
                    stack.extend((i, False) for i in sorted(inputs) if depths[i] < 0 or i in below)
        return tuple(depths)

    def related(self, *queries: int) -> Related:
        """S(q) and O(q) of all these together: what can be in their plans, found recursively (IV.A).

        >>> hosts = (HostResources("h", 1.0),)
        >>> s = [DataStream("A", 1, frozenset({0})), DataStream("B", 1, frozenset({0})), DataStream("AB", 1)]
        >>> system = StreamSystem(hosts, (*s, DataStream("AB'", 1)), (SharedOperator((0, 1), 2, 1.0),))
        >>> sorted(system.related(2).streams), sorted(system.related(2).operators)
        ([0, 1, 2], [0])
        """
        streams, operators = set(queries), set()
        stack = list(queries)
        while stack:
            for operator in self.makers[stack.pop()]:
                operators.add(operator)
                fresh = set(self.operators[operator].inputs) - streams
                streams |= fresh
                stack.extend(fresh)
        return Related(frozenset(streams), frozenset(operators))
