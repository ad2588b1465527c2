"""Every plan (section 5.2 of 000): all logical plans that moves reach, the best placement of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.request import PlanRequest
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import Found, best_of, strategy

DEFAULTS = {"steps": 1e9}
"""A budget of placement steps; when it is used up, the result is the best found and not proven."""


def search(encoding: Encoding, options: Mapping[str, float], deadline: float) -> Found:
    """Proves the optimum, or gives up at the budget or when its table of logical plans is full."""
    value = encoding.run(code.EXHAUST, int(options["steps"]), reals=(0.0, 0.0, 0.0, -HUGE))
    complete = encoding.counter(5) == 0
    extra: dict[str, object] = {"logicalPlans": encoding.counter(7)}
    return Found(best_of(encoding, value), value if complete else HUGE, complete, extra)


_headroom = strategy("exhaustive", search, DEFAULTS, 1 << 20)


def exhaustive(problem: Problem, **request: Unpack[PlanRequest]) -> Result:
    """Plans a problem by looking at every plan, for either objective."""
    if request["objective"] == "network-usage":
        from weir_placement.network import exhaustive as usage

        return usage.exhaustive(problem, **request)
    return _headroom(problem, **request)
