"""Who pays for a flow that several queries could share: shares that add up to 1, moved by subgradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.network.dynamic_program import Charges
from weir_placement.network.ledger import FlowKey
from weir_placement.network.plan_space import PlanSpace

MEMORY = 0.7
"""Part of the last round's direction that the next one keeps: plain subgradients go to and fro."""


class Shares:
    """Shares of all flows between cells met so far, in one array; a flow not met is shared evenly.

    `ends[q]` gives, by cell, the further sites of query q that lie in it: a share holds for them too.
    `even[q]`, shape (T,), is 1 / (users of each stream of query q).
    """

    def __init__(
        self, spaces: Sequence[PlanSpace], latency: Floats, ends: Sequence[Mapping[int, Sequence[int]]]
    ) -> None:
        self._spaces = spaces
        self._latency = np.maximum(latency, 0.1 * latency.mean())  # the scale of steps
        self._ends = ends
        self._width = 1 + max([len(latency), *(site for e in ends for s in e.values() for site in s)])
        self._users: dict[str, list[tuple[int, int]]] = {}  # signature -> (query, stream)
        self._seat: list[list[int]] = []  # of each stream of each query among the users of its signature
        for q, space in enumerate(spaces):
            self._seat.append([])
            for t, signature in enumerate(space.signatures):
                seats = self._users.setdefault(signature, [])
                self._seat[q].append(len(seats))
                seats.append((q, t))
        self.even = [np.array([1.0 / len(self._users[s]) for s in space.signatures]) for space in spaces]
        self._start: dict[FlowKey, int] = {}
        self._counts: list[int] = []  # users of each flow
        self._charge: list[float] = []  # [bytes] of each flow
        self._size = 0
        self._share = np.zeros(0)
        self._direction = np.zeros(0)
        self._used: list[int] = []  # seats of this round
        self._keys: list[list[int]] = [[] for _ in spaces]  # (stream, from, to) as one number
        self._seats: list[list[int]] = [[] for _ in spaces]  # where its share is
        self._sorted: list[tuple[Ints, Charges] | None] = [None for _ in spaces]

    def use(self, q: int, t: int, a: int, b: int) -> float:
        """Query q uses stream t from a to b; its share."""
        if self.even[q][t] == 1.0:
            return 1.0
        flow = self._spaces[q].signatures[t], a, b
        start = self._start.get(flow)
        if start is None:
            start = self._meet(flow, t, q)
        at = start + self._seat[q][t]
        self._used.append(at)
        return float(self._share[at] if at < len(self._share) else self.even[q][t])

    def _meet(self, flow: FlowKey, t: int, q: int) -> int:
        signature, a, b = flow
        users = self._users[signature]
        start = self._start[flow] = self._size
        self._size += len(users)
        self._counts.append(len(users))
        self._charge.append(float(self._spaces[q].ways.bytes_per_second[t] * self._latency[a, b]))
        for seat, (other, stream) in enumerate(users):
            ends = self._ends[other]
            for source in (a, *ends.get(a, ())):
                for target in (b, *ends.get(b, ())):
                    self._keys[other].append((stream * self._width + source) * self._width + target)
                    self._seats[other].append(start + seat)
            self._sorted[other] = None
        return start

    def charges(self, q: int) -> Charges | None:
        """What query q pays for the flows met so far."""
        if not self._keys[q]:
            return None
        ways, nodes = self._spaces[q].ways, self._width
        seats_and_charges = self._sorted[q]
        if seats_and_charges is None:
            keys = np.array(self._keys[q], np.int64)
            order = np.argsort(keys)
            keys = keys[order]
            stream = keys // (nodes * nodes)
            start = np.searchsorted(stream, np.arange(ways.streams + 1))
            source, target = keys // nodes % nodes, keys % nodes
            seats = np.array(self._seats[q], np.int64)[order]
            seats_and_charges = self._sorted[q] = (
                seats,
                Charges(start, source, target, ways.bytes_per_second[stream]),
            )
        self._grow()
        seats, full = seats_and_charges
        return full._replace(weight=full.weight * self._share[seats])

    def _grow(self) -> None:
        """Even shares for the flows that are new."""
        if self._size > len(self._share):
            count = np.array(self._counts, np.int64)
            self._share = np.concatenate([self._share, np.repeat(1.0 / count, count)[len(self._share) :]])

    def directions(self) -> float:
        """Ends a round: settles where shares should move, and says the squared length of that."""
        count = np.array(self._counts, np.int64)
        self._grow()
        slope = np.zeros(self._size)
        slope[self._used] = 1.0
        self._used = []
        self._direction = MEMORY * np.concatenate(
            [self._direction, np.zeros(self._size - len(self._direction))]
        )
        self._direction += slope - self._sums(slope, count) / np.repeat(count, count)
        return float(self._direction @ self._direction)

    def move(self, step: float) -> None:
        """Moves the shares by a step [bytes], back to what adds up to 1."""
        count = np.array(self._counts, np.int64)
        charge = np.repeat(np.array(self._charge), count)
        change = np.divide(step * self._direction, charge, out=np.zeros(self._size), where=charge > 0)
        moved = np.maximum(self._share + change, 0.0)
        self._share = moved / self._sums(moved, count)

    def _sums(self, values: Floats, count: Ints) -> Floats:
        """The sum over each flow, for each of its seats."""
        if not len(count):
            return np.ones(0)
        return np.repeat(np.add.reduceat(values, np.cumsum(count) - count), count)
