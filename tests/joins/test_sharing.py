"""Plans for the shared cost, against every plan there is."""

from itertools import permutations, product
from math import isclose
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.optimal import nos_optimal, priced
from weir_placement.joins.plan import Sep, plan_cost
from weir_placement.joins.shared_chains import Chains
from weir_placement.joins.shared_optimum import nos_shared
from weir_placement.joins.sharing import shared_cost
from weir_placement.joins.streams import MultiwayJoin, windowed

from tests.joins.random_joins import PAPER, joins, random_join


def every_sep(width: int, head: int) -> list[Sep]:
    others = [stream for stream in range(width) if stream != head]
    return [
        Sep(head, order, bits) for order in permutations(others) for bits in product((0, 1), repeat=width - 1)
    ]


def least_shared_cost(join: MultiwayJoin) -> float:
    """[s/s] of all plans: 512 for three streams, 5.3 million for four."""
    chains = Chains(join)
    paid = chains.paid.ravel()
    combined = [(np.zeros(len(paid), dtype=bool), 0.0)]
    for head in range(join.width):
        uses = [chains.chain(sep) for sep in every_sep(join.width, head)]
        pairs = [
            (used | (chain.uses.ravel() > 0), own + chain.own) for used, own in combined for chain in uses
        ]
        # Of plans that use the same, the one that pays least alone is enough.
        cheapest: dict[bytes, tuple[NDArray[np.bool_], float]] = {}
        for used, own in pairs:
            key = used.tobytes()
            if key not in cheapest or own < cheapest[key][1]:
                cheapest[key] = (used, own)
        combined = list(cheapest.values())
    return min(own + float(paid[used].sum()) for used, own in combined)


@pytest.mark.parametrize("seed", range(25))
def test_three_streams_get_the_least_shared_cost_of_all_plans(seed: int) -> None:
    join = random_join(Random(seed), 3)
    every = product(*(every_sep(3, head) for head in range(3)))
    least = min(shared_cost(join, plan) for plan in every)
    result = nos_shared(join)
    assert result.proven
    assert isclose(result.shared, least, rel_tol=1e-6)
    assert isclose(least, least_shared_cost(join), rel_tol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_four_streams_get_the_least_shared_cost_of_all_plans(seed: int) -> None:
    join = random_join(Random(seed), 4)
    result = nos_shared(join)
    assert result.proven
    assert isclose(result.shared, least_shared_cost(join), rel_tol=1e-6)


@settings(max_examples=30)
@given(joins(most=7))
def test_the_bound_is_below_every_plan_and_the_plan_no_dearer_than_the_others(join: MultiwayJoin) -> None:
    result = nos_shared(join, most_subproblems=10)
    others = [nos_greedy(join), nos_optimal(join).plan]
    assert result.bound <= result.shared * (1 + 1e-6)
    for plan in others:
        assert result.shared <= shared_cost(join, plan) * (1 + 1e-9)
        assert result.bound <= shared_cost(join, plan) * (1 + 1e-6)
    assert isclose(result.shared, shared_cost(join, result.plan))
    assert isclose(result.cost, plan_cost(join, result.plan))


def test_sharing_gathers_windows_where_chains_apart_would_not() -> None:
    """Shipping dominates: by equations 1 to 3 each chain goes its own way, together they meet at one node."""
    join = MultiwayJoin(tuple(windowed(f"S{k}", 100 + 10 * k, 0.01, 150, 0.5) for k in range(6)), PAPER)
    shared, apart = nos_shared(join), nos_optimal(join)
    assert shared.proven
    assert shared.shared < 0.5 * apart.shared
    assert shared.cost >= apart.cost


def test_a_chain_uses_what_the_shared_cost_counts() -> None:
    random = Random(2)
    join = random_join(random, 5)
    chains = Chains(join)
    plan = tuple(random.choice(every_sep(5, head)) for head in range(5))
    assert isclose(chains.cost([chains.chain(sep) for sep in plan]), priced(join, plan).shared)
