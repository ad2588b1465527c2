"""The exact dynamic program over (stream, node): join order and placement in one pass.

Without capacities and reuse, network usage has optimal substructure over (set of streams, node):
the cheapest way to have a stream at a node does not depend on what is done with it. So, in
topological order of the streams a query can derive,

    produced(t, n)  = min over ways w of t:  place(w, n) + sum over inputs i of w: available(i, n)
    available(t, n) = min over nodes m:      produced(t, m) + rate(t) latency(m, n)

`place(w, n)` is 0 in the plain objective. It carries node prices (Lagrangean multipliers of
capacities), and is infinite where a node may not run the operators of a way, so that one program
serves the plain, the priced and the capacitated searches.

Cost: O(W N + T N^2) for W ways, T streams and N nodes; for a join of K streams on a complete join
graph W is O(3^K) and T is O(2^K).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.network.counting import compared


@dataclass(frozen=True)
class Ways:
    """The numbers of a plan space: an AND-OR graph of T streams in topological order and W ways.

    Attributes:
        bytes_per_second: shape (T,) [bytes/s], what a flow of each stream carries.
        start: shape (T + 1,); stream t is derived by the ways start[t] .. start[t + 1] - 1.
        input_start: shape (W + 1,); way w reads the streams inputs[input_start[w] : input_start[w + 1]].
        inputs: stream indexes, each smaller than that of the stream derived.
        cpu: shape (W,) [CPU-us/s] of the way's operators.
        memory: shape (W,) [bytes].
    """

    bytes_per_second: Floats
    start: Ints
    input_start: Ints
    inputs: Ints
    cpu: Floats
    memory: Floats

    @property
    def streams(self) -> int:
        """T."""
        return len(self.bytes_per_second)

    @property
    def ways(self) -> int:
        """W."""
        return len(self.cpu)

    def inputs_of(self, way: int) -> Ints:
        """The streams that a way reads."""
        return self.inputs[self.input_start[way] : self.input_start[way + 1]]


@dataclass(frozen=True)
class CostTable:
    """What the program found, each of shape (T, N).

    `produced` and `available` are costs [bytes in transit]; `way` is the way chosen to produce a
    stream at a node (-1: it is there already); `source` is the node a stream comes from.
    """

    produced: Floats
    available: Floats
    way: Ints
    source: Ints


class Step(NamedTuple):
    """A node of a plan tree: `stream` produced at `node` by `way` (-1: it is there already)."""

    stream: int
    node: int
    way: int
    inputs: tuple[Step, ...] = ()


_SMALL = 50_000
"""Inner steps, of all programs so far, that plain Python does in less time than numba takes to load."""

_steps = [0]


def _program(steps: int) -> Callable[..., int]:
    """The program, compiled once it pays; the same loops either way."""
    _steps[0] += steps
    return _run if _steps[0] < _SMALL and "numba" not in sys.modules else _compiled()


@lru_cache(maxsize=1)
def _compiled() -> Callable[..., int]:
    from numba import njit

    function: Any = njit(cache=True)(_run)
    return function  # type: ignore[no-any-return]


def _run(  # type: ignore[no-untyped-def]  # pragma: no cover
    latency,
    limit,
    carried,
    rate,
    start,
    input_start,
    inputs,
    present,
    shared,
    place,
    charge_start,
    charge_from,
    charge_to,
    charge_weight,
    produced,
    available,
    chosen,
    source,
):
    streams, nodes = present.shape
    row = np.empty(nodes)
    examined = 0
    for t in range(streams):
        for n in range(nodes):
            produced[t, n] = present[t, n]
            chosen[t, n] = -1
        for w in range(start[t], start[t + 1]):
            for n in range(nodes):
                cost = place[w, n]
                for k in range(input_start[w], input_start[w + 1]):
                    cost += available[inputs[k], n]
                if cost < np.inf:
                    examined += 1
                if cost < produced[t, n]:
                    produced[t, n] = cost
                    chosen[t, n] = w
        for n in range(nodes):
            available[t, n] = produced[t, n]
            source[t, n] = n
        charge = charge_start[t]
        for m in range(nodes):
            cost = produced[t, m]
            if cost == np.inf:
                continue
            for n in range(nodes):
                row[n] = rate[t] * latency[m, n]
            while charge < charge_start[t + 1] and charge_from[charge] < m:
                charge += 1
            while charge < charge_start[t + 1] and charge_from[charge] == m:
                row[charge_to[charge]] = charge_weight[charge] * latency[m, charge_to[charge]]
                charge += 1
            for n in range(nodes):
                if carried[t] > limit[m, n]:
                    continue
                examined += 1
                arrives = cost + row[n]
                # a stream stays where it is unless moving it is better by more than rounding
                if arrives < available[t, n] * (1.0 - 1e-12):
                    available[t, n] = arrives
                    source[t, n] = m
        for n in range(nodes):
            if shared[t, n] >= 0 and available[t, n] > 0.0:
                available[t, n] = 0.0
                source[t, n] = shared[t, n]
    return examined


class Charges(NamedTuple):
    """Single flows whose weight is not their stream's: those of stream t are start[t] .. start[t + 1] - 1,
    in the order of `source`; each costs `weight` [bytes/s] times the latency from source to target."""

    start: Ints
    source: Ints
    target: Ints
    weight: Floats


def solve(
    ways: Ways,
    latency: Floats,
    present: Floats,
    place: Floats,
    limit: Floats | None = None,
    shared: Ints | None = None,
    weight: Floats | None = None,
    charges: Charges | None = None,
) -> CostTable:
    """Runs the program, and counts the parts of plans that it compares (`counting`): a way of making a stream
    at a node from inputs that can get there, and a stream's way from a node where it can be to another.

    Args:
        ways: the plan space.
        latency: shape (N, N) [s] or priced latency, row = from, zero diagonal.
        present: shape (T, N): the cost at which a stream is at a node without being derived: 0 for a
            source where it enters or an advertised stream where it runs, infinite otherwise.
        place: shape (W, N): the cost of running a way at a node, infinite where it must not run.
        limit: shape (N, N) [bytes/s]: the widest flow that a link still takes; None: any.
        shared: shape (T, N): the node from which a stream flows to a node already, at no more cost,
            -1: it does not.
        weight: shape (T,): what a second of latency costs each stream; None: its bytes/s.
        charges: flows that cost something else.

    >>> one_join = Ways(np.array([8.0, 2.0, 1.0]), np.array([0, 0, 0, 1]), np.array([0, 2]),
    ...                 np.array([0, 1]), np.zeros(1), np.zeros(1))
    >>> line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> present = np.full((3, 3), np.inf); present[0, 0] = present[1, 2] = 0
    >>> table = solve(one_join, line, present, np.zeros((1, 3)))
    >>> float(table.available[2, 2])  # 2 bytes/s travel 2 s to the wide stream, 1 byte/s travels back
    6.0
    """
    shape = present.shape
    table = CostTable(np.empty(shape), np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.int64))
    nodes = shape[1]
    run = _program(len(ways.inputs) * nodes + ways.streams * nodes * nodes)
    examined = run(
        latency,
        np.full(latency.shape, np.inf) if limit is None else limit,
        ways.bytes_per_second,
        ways.bytes_per_second if weight is None else weight,
        ways.start,
        ways.input_start,
        ways.inputs,
        present,
        np.full(shape, -1) if shared is None else shared,
        place,
        *(charges if charges is not None else _no_charges(ways.streams)),
        table.produced,
        table.available,
        table.way,
        table.source,
    )
    compared(int(examined))
    return table


@lru_cache(maxsize=64)
def _no_charges(streams: int) -> Charges:
    none = np.zeros(0, np.int64)
    return Charges(np.zeros(streams + 1, np.int64), none, none, np.zeros(0))


def delivered(table: CostTable, sinks: Ints) -> tuple[float, int, int]:
    """The cheapest delivery of the last stream: (cost, node that produces it, sink).

    `sinks` are node indexes, any of which will do; none means that the result stays where it is.
    The sink is -1 then.
    """
    if len(sinks) == 0:
        node = int(np.argmin(table.produced[-1]))
        return float(table.produced[-1, node]), node, -1
    sink = int(sinks[np.argmin(table.available[-1, sinks])])
    return float(table.available[-1, sink]), int(table.source[-1, sink]), sink


def tree(table: CostTable, ways: Ways, stream: int, node: int) -> Step:
    """The plan tree that produces `stream` at `node`."""
    way = int(table.way[stream, node])
    if way < 0:
        return Step(stream, node, way)
    inputs = ways.inputs[ways.input_start[way] : ways.input_start[way + 1]].tolist()
    return Step(stream, node, way, tuple([tree(table, ways, i, int(table.source[i, node])) for i in inputs]))
