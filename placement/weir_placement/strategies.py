"""The registry of planning strategies: each is declared beside its function, with its options.

To list them costs no compiler and no solver: those are imported by the first plan that needs them.
"""

from __future__ import annotations

from typing import Any

from weir_placement.hierarchy.planners import BOTTOM_UP, NET_PRESENT_COST, TOP_DOWN, TOP_DOWN_REFINED
from weir_placement.network.exact_dp import EXACT_DP
from weir_placement.network.plan_then_deploy import PLAN_THEN_DEPLOY, RELAXATION
from weir_placement.search.annealing import ANNEALING
from weir_placement.search.auto import AUTO
from weir_placement.search.exact import EXACT
from weir_placement.search.exhaustive import EXHAUSTIVE
from weir_placement.search.greedy import GREEDY
from weir_placement.search.random_placement import RANDOM
from weir_placement.search.reactive_tabu import REACTIVE_TABU
from weir_placement.search.round_robin import ROUND_ROBIN
from weir_placement.search.tabu import TABU
from weir_placement.search.two_phase import TWO_PHASE
from weir_placement.strategy import Strategy

_ALL: tuple[Strategy[Any], ...] = (
    EXACT_DP,
    AUTO,
    EXACT,
    EXHAUSTIVE,
    GREEDY,
    TABU,
    REACTIVE_TABU,
    ANNEALING,
    TWO_PHASE,
    RANDOM,
    ROUND_ROBIN,
    PLAN_THEN_DEPLOY,
    RELAXATION,
    TOP_DOWN,
    BOTTOM_UP,
    NET_PRESENT_COST,
    TOP_DOWN_REFINED,
)
STRATEGIES = {strategy.name: strategy for strategy in _ALL}


def select(name: str, objective: str) -> Strategy[Any]:
    """The strategy that `name` means for an objective: `auto` stands for the first one that has it.

    Raises:
        KeyError: there is no such strategy.
    """
    strategy = STRATEGIES[name]
    if name == "auto" and not strategy.plans_for(objective):
        return next((s for s in STRATEGIES.values() if s.plans_for(objective)), strategy)
    return strategy
