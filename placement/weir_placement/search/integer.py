"""Better plans and bounds where links and memory are short, by asking whether some plan carries x.

Two integer programs (`feasible_program`) are asked by bisection: one for plans, from the best one on, and one
whose "no" holds for all plans. Small steps of a search seldom lead from one good plan to another there, since
several operators have to move together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan, Result
from weir_placement.model.problem import Problem
from weir_placement.model.space import Space
from weir_placement.network.joint_program import Task
from weir_placement.network.joint_solution import has_none, solve_jointly
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace, plan_spaces, rescaled
from weir_placement.network.single import query_plan
from weir_placement.proof import with_proof
from weir_placement.search.feasible_program import FeasibleProgram, RelaxedProgram
from weir_placement.search.item import HUGE
from weir_placement.search.priced_bound import can_say, least_filtering, relaxed

MOST = 30_000
"""Flows of a program, about."""
WORK = 2.0
"""Of CP-SAT's deterministic seconds for one question."""
WRITING = 1e-4
"""[s] a flow."""
NEAR = 0.004
"""Relative: where plan and bound are so near, nothing more is asked."""


def can_ask(problem: Problem) -> bool:
    """Whether the programs say something about the problem: one query, each of its sources read once, one
    point of its profile."""
    if not can_say(problem) or len(problem.queries) > 1 or len(problem.points()) > 1:
        return False
    sources = list(problem.queries[0].sources.values())
    return len(set(sources)) == len(sources)


@dataclass
class Questions:
    """About one problem; `deadline` as of `perf_counter`."""

    problem: Problem
    seed: int
    deadline: float

    def __post_init__(self) -> None:
        self.real = self._spaces(self.problem)
        self.free = relaxed(self.problem)
        self.relaxed = self._spaces(self.free)

    @property
    def small(self) -> bool:
        """Whether the programs are, and hold every order of joins."""
        return self.flows <= MOST and not self.relaxed[0].draft.written_order

    @property
    def flows(self) -> int:
        """Of a program, about."""
        return self.relaxed[0].ways.streams * len(self.problem.cluster) ** 2

    @property
    def over(self) -> bool:
        """Whether the time that is left does not suffice to write a program down."""
        return perf_counter() + WRITING * self.flows > self.deadline

    def plan(self, x: float) -> Plan | None:
        """A plan that carries x; none if there is none of this kind, or it was not found."""
        problem, (space,) = self._at(self.problem, self.real, x)
        program = FeasibleProgram(Ledger(problem), [Task(space, range(len(problem.cluster)))])
        outcome = solve_jointly(program, WORK, self.seed, self.deadline - perf_counter())
        if outcome.placements is None:
            return None
        (placement,) = outcome.placements
        return Plan((query_plan(self.problem, replace(placement, space=self.real[0])),))

    def impossible(self, x: float) -> bool:
        """Whether it is proved that no plan carries x."""
        problem, (space,) = self._at(self.free, self.relaxed, x)
        filtering = least_filtering(space, self.problem.queries[0].operators)
        program = RelaxedProgram(Ledger(problem), space, filtering)
        return has_none(program, WORK, self.seed, self.deadline - perf_counter())

    @staticmethod
    def _spaces(problem: Problem) -> Sequence[PlanSpace]:
        return list(plan_spaces(problem, problem.queries).values())

    @staticmethod
    def _at(problem: Problem, spaces: Sequence[PlanSpace], x: float) -> tuple[Problem, Sequence[PlanSpace]]:
        streams = {name: replace(stream, rate=x * stream.rate) for name, stream in problem.streams.items()}
        scaled = replace(problem, streams=streams)
        return scaled, rescaled(scaled, spaces)


def narrowed(problem: Problem, best: Result, bound: float, deadline: float) -> Result:
    """The best plan or a better one, with a bound that holds for all plans: at most `bound`, which does too
    (1e300: there is none)."""
    if best.value is None or not 0 < best.value < HUGE or perf_counter() > deadline or not can_ask(problem):
        return best
    questions = Questions(problem, best.seed, deadline)
    if not questions.small:
        return best
    raised = _raised(questions, best, bound)
    value = raised.value
    assert value is not None
    bound = _lowered(questions, value, bound)
    if raised is best and best.bound is not None and best.bound <= bound and bound > value:
        return best  # with what is known of a part of the plans
    result = replace(raised, bound=None if bound >= HUGE else bound, extra=best.extra, space=Space.ALL)
    return with_proof(result, bound <= value)


def _raised(questions: Questions, best: Result, bound: float) -> Result:
    """The best plan that is found below the bound."""
    value, high = best.value or 0.0, bound
    x = value * (1 + NEAR)
    while x < high and not questions.over:
        plan = questions.plan(x)
        carried = evaluate(questions.problem, plan).headroom if plan else None
        if plan is not None and carried is not None and carried > value:
            value, best = carried, replace(best, plan=plan, value=carried)
        else:
            high = x
        x = max((value * min(high, 4.0 * value)) ** 0.5, value * (1 + NEAR))
    return best


def _lowered(questions: Questions, value: float, bound: float) -> float:
    """The least bound that is found above the value; the value itself where no plan exceeds it."""
    low, x = value, value * (1 + 1e-6)
    while low * (1 + NEAR) < bound or low == value:
        if questions.over:
            break
        if questions.impossible(x):
            if low == value:
                return value
            bound = x
        else:
            low = x
        x = (low * min(bound, 4.0 * low)) ** 0.5
    return bound
