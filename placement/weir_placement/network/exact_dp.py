"""`exact-dp`: join order, placement and reuse together, exactly for each query.

The problem is that of [1]_ (section 2.3), which holds that it has no optimal substructure; that is so with
reuse only. For one query without binding capacities the program of `dynamic_program` is the optimum. Several
queries are planned one after the other over what runs already, then improved in rounds; the bound says how
far from the best the whole can be.

References
----------
.. [1] Sangeetha Seshadri, Vibhore Kumar, Brian Cooper, Ling Liu, "A Distributed Stream Query Optimization
       Framework through Integrated Planning and Deployment", IEEE TPDS 20, 2009 (Hierarchical partitions).
"""

from __future__ import annotations

from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.several import ReuseOptions, result
from weir_placement.network.single import Refusal, SinglePlacement, place_query
from weir_placement.network.sites import exact_sites
from weir_placement.objectives import NETWORK_USAGE
from weir_placement.request import PlanRequest
from weir_placement.strategy import Strategy


def exact_dp(problem: Problem, request: PlanRequest, options: ReuseOptions) -> Result:
    """Plans every query by the exact program over all nodes."""

    def planner(ledger: Ledger, space: PlanSpace) -> SinglePlacement | Refusal:
        return place_query(ledger, space, exact_sites(ledger, space))

    return result(problem, "exact-dp", planner, request, reuse=options.reuse, recombined=True)


EXACT_DP = Strategy(
    "exact-dp",
    "Hierarchical partitions",
    (NETWORK_USAGE,),
    "optimal for each query where no capacity binds; several queries: a bound",
    exact_dp,
    ReuseOptions,
)
