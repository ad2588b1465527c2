"""The cheapest plan with a headroom that is enough: the fewest hosts, then the least network usage.

`kernel.consolidate` and small moves (`kernel.ties`) take turns, from the plan that a search has found and
from others that annealing finds; then branch and bound over all plans (`kernel.cheapest`), within a budget
of steps.
"""

from __future__ import annotations

from weir_placement.model.plan import PlanCost
from weir_placement.search.encode import Encoding
from weir_placement.search.item import EQUAL
from weir_placement.search.kernel import entry_codes as code

STARTS = 6
"""Annealings whose plans are made cheaper beside the one that was found."""
FEW = 300
"""Items up to which there are such annealings."""
ITERATIONS = 50
"""Moves of such an annealing at each temperature."""
TURNS = 10
KEY = 4
"""Words of a key in the arrays: hosts, network usage, fragments, moves."""


def reached(value: float | None, enough: float | None) -> bool:
    """Whether a headroom (None: unbounded) is enough."""
    return enough is not None and (value is None or value >= enough * (1 - EQUAL))


def economise(encoding: Encoding, enough: float, steps: int) -> tuple[PlanCost, bool]:
    """Makes the present configuration, which has enough headroom, as cheap as is found.

    Args:
        steps: of the proof (0: none).

    Returns what it costs, and whether it is proved that no plan in the encoding's space costs less.
    """
    configuration, cost = _cheaper(encoding)
    if len(encoding.items) <= FEW:
        for _ in range(STARTS):
            encoding.run(code.SCATTER)
            if encoding.run(code.SETTLE, iterations=ITERATIONS, goal=2 * enough) < enough * (1 - EQUAL):
                continue
            encoding.recall()
            other, its_cost = _cheaper(encoding)
            if its_cost.below(cost):
                configuration, cost = other, its_cost
    encoding.put(configuration)
    if not steps:
        return cost, False
    cost, proven = exhausted(encoding, cost, steps, code.EXHAUST)
    encoding.recall()
    return cost, proven


def _cheaper(encoding: Encoding) -> tuple[tuple[list[int], list[int]], PlanCost]:
    """The configuration that moves of all kinds lead to from the present one, and what it costs."""
    cost: PlanCost | None = None
    for _ in range(TURNS):
        encoding.run(code.CONSOLIDATE, rounds=TURNS)
        encoding.recall()
        encoding.run(code.POLISH, rounds=TURNS)
        encoding.recall()
        now = _cost(encoding.read("key_")[:KEY])
        if cost is not None and not now.below(cost):
            break
        cost = now
    return encoding.configuration(), now


def _cost(key: list[float]) -> PlanCost:
    hosts, usage, fragments, moves = key
    return PlanCost(round(hosts), usage, round(fragments), round(moves))


def exhausted(encoding: Encoding, cost: PlanCost, steps: int, command: int) -> tuple[PlanCost, bool]:
    """The least cost of all plans (`PLACE`: of those of the present logical plan) or `cost`, and whether all
    were looked at. A plan that costs less is saved as the best configuration."""
    encoding.write("out", [0] * 7, start=1)
    to_beat = [cost.hosts, cost.network_usage, cost.fragments, cost.moves, 1.0]
    encoding.write("key_", to_beat, start=KEY + 1)
    encoding.run(command, steps=steps, cheapest=1, best=0.0)
    return _cost(encoding.read("key_")[KEY + 1 : 2 * KEY + 1]), not encoding.counter(code.GAVE_UP)
