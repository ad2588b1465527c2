"""Every plan ([1]_, section 5.2): all logical plans that moves reach, the best placement of each.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.network import exhaustive as network_usage
from weir_placement.objectives import HEADROOM, NETWORK_USAGE
from weir_placement.options import option
from weir_placement.request import PlanRequest
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import SearchResult, best_of, plan_with
from weir_placement.strategy import Strategy

TABLE = 1 << 20
"""Logical plans that it can remember."""


@dataclass(frozen=True)
class ExhaustiveOptions:
    """When the steps are used up, the result is the best found and not proven."""

    steps: int = option(10**9, "maximum number of placement steps", objective=HEADROOM.name)


def search(encoding: Encoding, options: ExhaustiveOptions, deadline: float) -> SearchResult:
    """Proves the optimum, or gives up at the budget or when its table of logical plans is full."""
    value = encoding.run(code.EXHAUST, steps=options.steps, cheapest=0, best=-HUGE)
    complete = encoding.counter(code.GAVE_UP) == 0
    extra: dict[str, object] = {"logicalPlans": encoding.counter(code.LOGICAL_PLANS)}
    return SearchResult(best_of(encoding, value), value if complete else HUGE, complete, extra)


def plan(problem: Problem, request: PlanRequest, options: ExhaustiveOptions) -> Result:
    """Plans a problem by looking at every plan, for either objective."""
    if request.objective is NETWORK_USAGE:
        return network_usage.exhaustive(problem, request)
    return plan_with("exhaustive", search, problem, request, options, TABLE)


EXHAUSTIVE = Strategy(
    "exhaustive",
    "WhiteWater, section 5.2; Hierarchical partitions, Lemma 1",
    (HEADROOM, NETWORK_USAGE),
    "the optimum over swaps of the written plan, proved; network-usage: for each query alone",
    plan,
    ExhaustiveOptions,
)
