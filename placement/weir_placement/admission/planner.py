"""`sqpr`: Algorithm 1. Queries are admitted one after the other or in batches; who is admitted stays.

For each: what has been admitted is shared; else `sqpr-heuristic` makes a plan, and then the program looks
for a better one in the region that is related to the query, or for any. The heuristic's plan is kept
outside the solver: a limit that ends the solver too early never refuses what it admits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from time import monotonic

from weir_placement.admission.allocation import Allocation, only_serving
from weir_placement.admission.heuristic import sqpr_heuristic
from weir_placement.admission.objective import Weights, moves, worth
from weir_placement.admission.program import AdmissionProgram
from weir_placement.admission.region import ALL_HOSTS, RelatedRegion, region
from weir_placement.admission.request import Demand, StreamRequest, demands
from weir_placement.admission.solve import Solution, SolverLimits, shortages, solve
from weir_placement.admission.system import StreamSystem
from weir_placement.model.plan import Rejection


@dataclass(frozen=True)
class AdmissionVerdict:
    """What was decided about a query.

    Attributes:
        by: `reuse` (its stream was there), `as before` (it was planned anew, and stays), `sqpr-heuristic` or
            `sqpr` (the program); "" where it is refused.
        gap: how much better the region's plan can be, by the solver's bound; `inf` where it has none.
        proven: no plan of the region is better: of a refused query, that none admits it without dropping
            others or changing what is unrelated.
        seconds: of the decision, for all of a batch together.
    """

    query: str
    admitted: bool
    by: str
    gap: float = inf
    proven: bool = False
    seconds: float = 0.0


class SqprPlanner:
    """Decides about queries as they come, and has the allocation in force.

    Args:
        most_hosts: of a region; `ALL_HOSTS` as in the paper.
        solver: False: `sqpr-heuristic` alone.
    """

    def __init__(
        self,
        system: StreamSystem,
        weights: Weights | None = None,
        limits: SolverLimits | None = None,
        most_hosts: int = ALL_HOSTS,
        *,
        solver: bool = True,
    ) -> None:
        self.system = system
        self.weights = weights or Weights()
        self.limits = limits or SolverLimits()
        self.most_hosts = most_hosts
        self.solver = solver
        self.allocation = Allocation()
        self.requests: dict[str, StreamRequest] = {}

    def submit(
        self, *batch: StreamRequest, running: Allocation | None = None, ready: Allocation | None = None
    ) -> list[AdmissionVerdict]:
        """Decides about queries together, those of a higher priority before the others.

        Args:
            running: what really runs, where queries were taken out of the allocation to be planned anew.
            ready: an allocation with all of the batch besides, which is feasible; the heuristic is not asked.

        Returns:
            One for each query, in the order of the batch.

        Raises:
            ValueError: a query has been admitted under this name.
        """
        names = [request.name for request in batch]
        again = sorted({name for name in names if name in self.requests or names.count(name) > 1})
        if again:
            raise ValueError(f"query {again[0]}: there is one of this name; withdraw it first")
        verdicts: dict[str, AdmissionVerdict] = {}
        for _, group in groupby(sorted(batch, key=lambda r: -r.priority), key=lambda r: r.priority):
            for verdict in self._decide(list(group), running or self.allocation, ready):
                verdicts[verdict.query] = verdict
        return [verdicts[name] for name in names]

    def withdraw(self, names: Iterable[str]) -> None:
        """Ends queries and frees what only they used. Names that were not admitted are left out."""
        for name in names:
            self.requests.pop(name, None)
        wanted = {demand.stream: demand.copies for demand in demands(self.requests.values())}
        served = {
            query: hosts[: wanted[query]]
            for query, hosts in self.allocation.served.items()
            if query in wanted
        }
        self.allocation = only_serving(self.system, Allocation(self.allocation.providers, served), served)

    def explain(self, request: StreamRequest) -> Rejection:
        """Why a query that was refused is not admitted: what would have to grow, in its region."""
        demand = Demand(request.stream, request.priority, request.copies)
        started = monotonic()
        part = self._region([demand], (), self.allocation)
        program = AdmissionProgram(part, [demand], self._kept(part, [demand]), self.weights, elastic=True)
        short = shortages(program, self.limits, started + self.limits.wall)
        words = "; ".join(map(str, short)) or "no shortage was found within the limit"
        return Rejection(request.name, words, short)

    def _decide(
        self, group: Sequence[StreamRequest], running: Allocation, ready: Allocation | None
    ) -> list[AdmissionVerdict]:
        """Queries of one priority."""
        started = monotonic()
        served = self.allocation.served
        fresh = {
            demand.stream: demand
            for demand in demands(group)
            if len(served.get(demand.stream, ())) < demand.copies
        }
        by: dict[int, str] = {}
        solution = Solution(None, frozenset(), inf, False)
        if fresh:
            greedy, taken = (ready, set(fresh)) if ready else self._greedy(list(fresh.values()))
            by = dict.fromkeys(taken, "as before" if ready else "sqpr-heuristic")
            best = greedy
            if self.solver:
                deadline = started + self.limits.wall * len(fresh)
                solution = self._solve(list(fresh.values()), greedy, running, deadline)
                if solution.allocation is not None and self._better(solution, greedy, taken, running):
                    best, by = solution.allocation, dict.fromkeys(solution.admitted, "sqpr")
            self.allocation = best
        seconds = monotonic() - started
        verdicts = []
        for request in group:
            if len(served.get(request.stream, ())) >= request.copies:
                verdicts.append(AdmissionVerdict(request.name, True, "reuse", 0.0, True, seconds))
            else:
                way = by.get(request.stream, "")
                gap, proven = solution.gap, solution.proven
                verdicts.append(AdmissionVerdict(request.name, bool(way), way, gap, proven, seconds))
        taken_names = {verdict.query for verdict in verdicts if verdict.admitted}
        self.requests.update((r.name, r) for r in group if r.name in taken_names)
        return verdicts

    def _greedy(self, new: Sequence[Demand]) -> tuple[Allocation, set[int]]:
        allocation, taken = self.allocation, set()
        for demand in new:
            after = sqpr_heuristic(self.system, allocation, demand, self.weights)
            if after is not None:
                allocation = after
                taken.add(demand.stream)
        return allocation, taken

    def _solve(
        self, new: Sequence[Demand], greedy: Allocation, running: Allocation, deadline: float
    ) -> Solution:
        added = [host for host, stream in greedy.providers if (host, stream) not in self.allocation.providers]
        serving = [host for demand in new for host in greedy.served.get(demand.stream, ())]
        part = self._region(new, (*serving, *added), running)
        program = AdmissionProgram(part, new, self._kept(part, new), self.weights)
        return solve(program, self.limits, deadline, greedy)

    def _region(self, new: Sequence[Demand], first: Sequence[int], running: Allocation) -> RelatedRegion:
        return region(self.system, self.allocation, new, self.most_hosts, first, running)

    def _kept(self, part: RelatedRegion, new: Sequence[Demand]) -> list[Demand]:
        """IV.9 is for these: related queries that are admitted."""
        own = {demand.stream for demand in new}
        return [
            Demand(query, 0, len(hosts))
            for query, hosts in self.allocation.served.items()
            if query in part.related.streams and query not in own
        ]

    def _better(self, solution: Solution, greedy: Allocation, taken: set[int], running: Allocation) -> bool:
        assert solution.allocation is not None
        if len(solution.admitted) != len(taken):
            return len(solution.admitted) > len(taken)
        price = self.weights.move
        values = [
            worth(self.system, plan, self.weights) - price * (moves(running, plan) if price else 0)
            for plan in (solution.allocation, greedy)
        ]
        return values[0] > values[1] + 1e-9
