"""The one registry of planning strategies: name -> paper, objective, guarantee, function.

A strategy's function is named by its module path and imported when it is used, so that listing
strategies, or planning with one, does not pay for the imports of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Unpack, cast

from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Problem
from weir_placement.request import PlanRequest, StrategyFunction


@dataclass(frozen=True)
class Strategy:
    """One line of `weir strategies`."""

    name: str
    paper: str
    objectives: tuple[Objective, ...]
    guarantee: str
    function: str  # "package.module:name"
    options: Mapping[str, str]  # option -> default with unit, shown by `weir strategies`

    def load(self) -> StrategyFunction:
        """The function; of a problem with budgets, the plan that it makes is brought within them."""
        module, name = self.function.split(":")
        function = cast(StrategyFunction, getattr(import_module(module), name))

        def plan(problem: Problem, **request: Unpack[PlanRequest]) -> Result:
            if not problem.budgets:
                return function(problem, **request)
            from weir_placement.budget.admission import plan_within

            return plan_within(function, problem, request)

        return plan


STRATEGIES: dict[str, Strategy] = {}


def _add(strategy: Strategy) -> None:
    STRATEGIES[strategy.name] = strategy


_REUSE = {"reuse": "off; on: queries read derived streams that other queries run (004's experiments)"}
_SIZE = {"maxClusterSize": "the policy's; at most so many nodes in a cluster", **_REUSE}

_add(
    Strategy(
        "exact-dp",
        "004",
        ("network-usage",),
        "optimal for each query where no capacity binds; several queries: a bound",
        "weir_placement.network.exact_dp:exact_dp",
        _REUSE,
    )
)

_MOVES = {"alpha": "0.5 share of physical moves"}
_TIES = {"ties": "1: small moves at the end break ties; 0: the paper's algorithm alone"}
for _name, _paper, _guarantee, _function, _options in (
    (
        "auto",
        "beyond 000",
        "the best of a portfolio with an upper bound; proven when that is reached",
        "auto:auto",
        {
            "iterations": "100 a temperature",
            "restarts": "8",
            "steps": "100000 of the proof",
            "items": "16",
            "forms": "1: also with projections pushed down; 0: as written only",
            "plans": "2000 of a small query, looked at one by one",
            "clones": "1: of an operator at most, by key",
            "split-cost": "1.0 us a tuple",
            "merge-cost": "0.5 us a tuple",
        },
    ),
    (
        "exact",
        "beyond 000",
        "the optimum, proven, if the time limit allows; else the best found with an upper bound",
        "exact:exact",
        {"iterations": "400 a temperature", "restarts": "8", "steps": "1000000, growing", "items": "any"},
    ),
    (
        "exhaustive",
        "000 section 5.2, 004",
        "the optimum over swaps of the written plan, proven; network-usage: for each query alone",
        "exhaustive:exhaustive",
        {"steps": "1e9 placement steps at most"},
    ),
    ("greedy", "000 section 5.1.1", "a local optimum", "greedy:greedy", {"iterations": "1000", **_TIES}),
    (
        "tabu",
        "000 section 5.1.2",
        "none",
        "tabu:tabu",
        {"iterations": "1000", "list": "1000 moves", **_TIES},
    ),
    (
        "reactive-tabu",
        "000 section 5.1.3",
        "none",
        "reactive_tabu:reactive_tabu",
        {
            "iterations": "1000",
            "list": "1 configuration at first",
            "cycle": "50 iterations at most",
            "increase": "1.1",
            "decrease": "0.9",
            **_TIES,
        },
    ),
    (
        "annealing",
        "000 section 5.1.4",
        "none",
        "annealing:annealing",
        {
            "temperatures": "4",
            "iterations": "400 a temperature",
            **_MOVES,
            "hot": "0.3 relative change of headroom",
            "cold": "0.01",
            **_TIES,
        },
    ),
    (
        "two-phase",
        "000 section 5.4",
        "the best placement of one logical plan",
        "two_phase:two_phase",
        {
            "algorithm": "4: 0 greedy, 1 tabu, 2 reactive tabu, 3 annealing, 4 exhaustive",
            "steps": "1e9",
        },
    ),
    ("random", "000 section 6.1", "none", "random_placement:random_placement", {}),
    ("round-robin", "001 algorithm 2", "none: a comparator", "round_robin:round_robin", {}),
):
    _objectives: tuple[Objective, ...] = ("headroom",)
    if _name == "exhaustive":
        _objectives = ("headroom", "network-usage")
    _add(Strategy(_name, _paper, _objectives, _guarantee, f"weir_placement.search.{_function}", _options))


for _name, _guarantee, _function, _options in (
    (
        "plan-then-deploy",
        "the best placement of the smallest join order",
        "network.plan_then_deploy:plan_then_deploy",
        {},
    ),
    ("relaxation", "none: a comparator", "network.plan_then_deploy:relaxation", {}),
    (
        "top-down",
        "cost estimates within 2 sum d_i (Theorem 1)",
        "hierarchy.planners:plan_top_down",
        _SIZE,
    ),
    ("bottom-up", "none", "hierarchy.planners:plan_bottom_up", _SIZE),
    ("net-present-cost", "none", "hierarchy.planners:plan_net_present_cost", _SIZE),
    (
        "top-down-refined",
        "a bound; no worse than top-down for a query alone",
        "hierarchy.planners:plan_top_down_refined",
        _SIZE,
    ),
):
    _add(Strategy(_name, "004", ("network-usage",), _guarantee, f"weir_placement.{_function}", _options))


def select(name: str, objective: Objective) -> Strategy:
    """The strategy that `name` means for an objective: `auto` stands for the first one that has it.

    Raises:
        KeyError: there is no such strategy.
    """
    strategy = STRATEGIES[name]
    if name == "auto" and objective not in strategy.objectives:
        return next((s for s in STRATEGIES.values() if objective in s.objectives), strategy)
    return strategy
