"""`nos_shared`: the cheapest plan when chains share ships and updates, by branch and bound.

NOS counts each chain in full (equations 1 to 3), yet its nodes do shared work once (Definition 2). With
sharing, chains are no longer planned one by one. Each chain is charged a share of what a resource costs; as
shares never come to more than the cost, the chains' optima at these prices are together a lower bound. Shares
are moved as subgradients say. Upper bounds come from every hub (all windows at one node), from the plans
without sharing, and from the chains met on the way, each improved chain by chain given the others. What is
left between the two bounds is closed by deciding for a resource whether it is used at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.optimal import Priced, nos_optimal, priced
from weir_placement.joins.plan import JoinExecutionPlan
from weir_placement.joins.shared_chains import Chains, UsedChain
from weir_placement.joins.streams import MultiwayJoin

ROUNDING = 1e-7
FIRST_ROUNDS, LATER_ROUNDS = 150, 25
MOST_STARTS = 3
FREE, USED, CLOSED = 0, 1, -1


@dataclass(frozen=True)
class Shared(Priced):
    """A plan for the shared cost.

    Attributes:
        bound: [s/s], no plan's shared cost is below it.
        proven: the bound is reached, up to rounding.
        examined: subproblems of the search.
    """

    bound: float
    proven: bool
    examined: int


class _Relaxed(NamedTuple):
    """A subproblem's bound, and what it was reached with: shares (m, 2, m, m), chains, resources' slack."""

    bound: float
    shares: Floats
    chains: list[UsedChain]
    slack: Floats


def nos_shared(join: MultiwayJoin, most_subproblems: int = 50) -> Shared:
    """The plan with the least shared cost, and a bound where it is not proven.

    Args:
        join: 2 to 10 streams.
        most_subproblems: the search ends unproven after so many; each takes O(m 2^(m-1) m^2) some 25 times.
    """
    chains = Chains(join)
    best = _first(chains)
    value = chains.cost(best)
    decided = np.zeros(chains.paid.shape, dtype=np.int64)
    shares = np.repeat(chains.paid[None], chains.width, axis=0) / chains.width
    number = count()
    relaxed = _relax(chains, decided, shares, value, FIRST_ROUNDS)
    waiting = [(relaxed.bound, next(number), decided, relaxed)] if relaxed else []
    examined = 1
    while waiting and waiting[0][0] < value * (1 - ROUNDING) and examined < most_subproblems:
        bound, _, decided, relaxed = heappop(waiting)
        for decision in (USED, CLOSED):
            child = decided.copy()
            child[_branch(relaxed, decided)] = decision
            below = _relax(chains, child, relaxed.shares, value, LATER_ROUNDS)
            examined += 1
            if below is None:
                continue
            if chains.cost(below.chains) < value:
                best = improved(chains, below.chains)
                value = chains.cost(best)
            heappush(waiting, (max(bound, below.bound), next(number), child, below))
    plan = tuple(chain.sep for chain in best)
    both = priced(join, plan)
    bound = min(waiting[0][0], value) if waiting else value
    return Shared(plan, both.cost, both.shared, bound, bound >= value * (1 - ROUNDING), examined)


def improved(chains: Chains, start: list[UsedChain]) -> list[UsedChain]:
    """Each chain in turn the cheapest given the others, until none improves."""
    current, value = list(start), np.inf
    while chains.cost(current) < value * (1 - ROUNDING):
        value = chains.cost(current)
        for head in range(chains.width):
            others = np.max([chain.uses for chain in current if chain.sep.head != head], axis=0)
            cheapest = chains.cheapest(head, chains.paid * (1.0 - others))
            if cheapest:
                current[head] = cheapest[1]
    return current


def _first(chains: Chains) -> list[UsedChain]:
    """Of every hub, the greedy plan and the optimum without sharing, the best ones improved."""
    starts: list[JoinExecutionPlan] = [nos_greedy(chains.join), nos_optimal(chains.join).plan]
    for hub in range(chains.width):
        prices = chains.paid.copy()
        prices[:, :, hub] = 0.0
        at_hub = [chains.cheapest(head, prices) for head in range(chains.width)]
        starts.append(tuple(result[1].sep for result in at_hub if result))
    apart = sorted(([chains.chain(sep) for sep in plan] for plan in starts), key=chains.cost)
    return min((improved(chains, start) for start in apart[:MOST_STARTS]), key=chains.cost)


def _relax(chains: Chains, decided: Ints, shares: Floats, value: float, rounds: int) -> _Relaxed | None:
    """The bound of a subproblem after some rounds of moving the shares; None when no plan is left in it.

    Args:
        chains: the join.
        decided: shape (2, m, m): FREE, USED (paid, then free to all) or CLOSED.
        shares: shape (m, 2, m, m) [s/s], what each chain is charged to begin with.
        value: [s/s], of the best plan so far.
        rounds: at most so many.
    """
    free = decided == FREE
    fixed = float(chains.paid[decided == USED].sum())
    best: _Relaxed | None = None
    length, stalled = 1.0, 0
    for _ in range(rounds):
        prices = np.where(free, shares, np.where(decided == USED, 0.0, np.inf))
        results = [chains.cheapest(head, prices[head]) for head in range(chains.width)]
        solved = [result for result in results if result]
        if len(solved) < chains.width:
            return None
        slack = np.where(free, chains.paid - shares.sum(axis=0), 0.0)
        bound = fixed + sum(cost for cost, _ in solved) + float(np.minimum(slack, 0.0).sum())
        better = best is None or bound > best.bound + 1e-4 * abs(value - best.bound)
        if best is None or bound > best.bound:
            best = _Relaxed(bound, shares, [chain for _, chain in solved], slack)
        stalled = 0 if better else stalled + 1
        if stalled == 4:
            length, stalled = 0.6 * length, 0
        uses = np.array([chain.uses for _, chain in solved])
        step = np.where(free, uses - (slack < 0), 0.0)
        step[(shares <= 0.0) & (step < 0.0)] = 0.0
        norm = float((step**2).sum())
        if best.bound >= value * (1 - ROUNDING) or length < 0.01 or norm == 0.0:
            break
        shares = np.maximum(shares + length * (1.02 * value - bound) / norm * step, 0.0)
    return best


def _branch(relaxed: _Relaxed, decided: Ints) -> tuple[int, ...]:
    """The undecided resource whose use the bound is most wrong about."""
    users = np.sum([chain.uses for chain in relaxed.chains], axis=0) * (decided == FREE)
    underpaid = np.maximum(relaxed.slack, 0.0) * users
    overpaid = np.maximum(-relaxed.slack, 0.0) * (len(relaxed.chains) - users)
    wrong = underpaid if underpaid.max() > 0.0 else overpaid
    wrong = np.where(decided == FREE, wrong, -1.0)
    place = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return tuple(int(index) for index in place)
