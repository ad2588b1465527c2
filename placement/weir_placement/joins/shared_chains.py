"""The cheapest chain when updates and ships at nodes have prices of their own (NOS, Definition 2).

A resource is the update of stream s at node n, or the ship of s to n. Chains that use the same one share it,
so what a chain has to pay for it depends on the others: a price. With prices given, one dynamic program over
(set of joined streams, node that holds the flow) finds a chain's optimum, placement bits included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.joins.plan import Sep
from weir_placement.joins.streams import MultiwayJoin
from weir_placement.joins.subsets import carried_by_set

UPDATE, SHIP = 0, 1


class UsedChain(NamedTuple):
    """A chain with what it uses.

    Attributes:
        sep: its order and bits.
        uses: shape (2, m, m), 1 where it uses [UPDATE or SHIP, stream, node].
        own: [s/s], its probes and the ships of what it carries, which no other chain can share.
    """

    sep: Sep
    uses: Floats
    own: float


class Chains:
    """All that chains of a join are priced by.

    Attributes:
        width: m.
        paid: shape (2, m, m) [s/s], what a resource costs once: r_s c_u for an update, T(r_s t_s) for a ship.
    """

    def __init__(self, join: MultiwayJoin) -> None:
        self.join, self.width = join, join.width
        costs, streams = join.costs, join.streams
        updates = np.array([stream.rate * costs.update for stream in streams])
        ships = np.array([costs.shipping(stream.rate, stream.size) for stream in streams])
        self.paid = np.repeat(np.stack([updates, ships])[:, :, None], self.width, axis=2)
        np.fill_diagonal(self.paid[SHIP], 0.0)
        self._windows = np.array([stream.window for stream in streams])
        self._rates = np.zeros((self.width, 1 << self.width))
        self._moves = np.zeros((self.width, 1 << self.width))
        for head in range(self.width):
            rates, sizes = carried_by_set(join, head)
            others = np.arange(len(rates))
            joined = (others >> head << (head + 1)) | (1 << head) | (others & ((1 << head) - 1))
            self._rates[head, joined] = rates
            self._moves[head, joined] = costs.latency + rates * sizes / costs.bandwidth
        self._best = np.zeros((1 << self.width, self.width))
        self._last = np.zeros((1 << self.width, self.width), dtype=np.int64)

    def cheapest(self, head: int, prices: Floats) -> tuple[float, UsedChain] | None:
        """[s/s] at these prices, shape (2, m, m), and the chain; None when infinite ones leave no way.

        O(2^(m-1) m^2).
        """
        probe = self.join.costs.probe
        rates, moves = self._rates[head], self._moves[head]
        _program()(head, rates, moves, self._windows, probe, prices, self._best, self._last)
        holder = int(self._best[-1].argmin())
        value = float(self._best[-1, holder])
        return (value, self.chain(self._sep(head, holder))) if np.isfinite(value) else None

    def chain(self, sep: Sep) -> UsedChain:
        """What a chain uses and pays for alone. O(m)."""
        probe, holder, own, joined = self.join.costs.probe, sep.head, 0.0, 1 << sep.head
        uses = np.zeros_like(self.paid)
        for stream, bit in zip(sep.order, sep.bits, strict=True):
            own += float(self._rates[sep.head, joined]) * probe * float(self._windows[stream])
            if not bit:
                uses[SHIP, stream, holder] = 1.0
            elif stream == sep.order[0]:
                uses[SHIP, sep.head, stream] = 1.0
            else:
                own += float(self._moves[sep.head, joined])
            holder = stream if bit else holder
            uses[UPDATE, stream, holder] = 1.0
            joined |= 1 << stream
        return UsedChain(sep, uses, own)

    def cost(self, chains: list[UsedChain]) -> float:
        """[s/s], each resource paid once."""
        used = np.max([chain.uses for chain in chains], axis=0)
        return float(sum(chain.own for chain in chains) + (used * self.paid).sum())

    def _sep(self, head: int, holder: int) -> Sep:
        order, bits, joined = [], [], (1 << self.width) - 1
        while joined != 1 << head:
            step = int(self._last[joined, holder])
            stream, before = divmod(step // 2, self.width)
            order.append(stream)
            bits.append(step % 2)
            joined, holder = joined ^ (1 << stream), before
        return Sep(head, tuple(reversed(order)), tuple(reversed(bits)))


@cache
def _program() -> Callable[..., None]:
    from numba import njit

    compiled: Any = njit(cache=True)(_run)
    return compiled  # type: ignore[no-any-return]


def _run(
    head: int,
    rates: Floats,
    moves: Floats,
    windows: Floats,
    probe: float,
    prices: Floats,
    best: Floats,
    last: Ints,
) -> None:
    """best[set, holder], and last[set, holder] = 2 (stream * m + holder before) + bit.

    A move leaves from the holder where the set is cheapest, whichever that is, so only stays look at all
    holders.
    """
    width = len(windows)
    stay = prices[0] + prices[1]
    best[:] = np.inf
    best[1 << head, head] = 0.0
    for joined in range(1 << head, 1 << width):
        start = best[joined].argmin()
        if best[joined, start] == np.inf:
            continue
        for stream in range(width):
            if (joined >> stream) & 1:
                continue
            after = joined | (1 << stream)
            probed = rates[joined] * probe * windows[stream]
            for holder in range(width):
                here = best[joined, holder] + probed + stay[stream, holder]
                if here < best[after, holder]:
                    best[after, holder] = here
                    last[after, holder] = 2 * (stream * width + holder)
            move = prices[1, head, stream] if joined == 1 << head else moves[joined]
            there = best[joined, start] + probed + prices[0, stream, stream] + move
            if there < best[after, stream]:
                best[after, stream] = there
                last[after, stream] = 2 * (stream * width + start) + 1
