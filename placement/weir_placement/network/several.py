"""Plans several queries one after the other, sharing streams, then improves each given the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

from weir_placement.cost.allowed import allowed_nodes, no_place
from weir_placement.model.plan import Plan, Rejection, Result
from weir_placement.model.problem import Problem, Query
from weir_placement.model.space import Space
from weir_placement.network.ascent import ascent_of
from weir_placement.network.bound import Relaxation, limited
from weir_placement.network.counting import Count, counting
from weir_placement.network.dynamic_program import Step
from weir_placement.network.fallback import Fallback
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace, plan_spaces
from weir_placement.network.proof_space import proof_space
from weir_placement.network.recombine import candidates, recombine
from weir_placement.network.single import Refusal, SinglePlacement, query_plan
from weir_placement.network.together import Together
from weir_placement.options import option
from weir_placement.proof import with_proof
from weir_placement.request import PlanRequest

Planner = Callable[[Ledger, PlanSpace], SinglePlacement | Refusal]
"""Plans one query given what runs."""

MAX_ROUNDS = 5
"""Of re-planning every query given the others."""


SEARCHING = 0.5
"""Share of the time in which plans are looked for of what the strategy has none for."""

MOST_CHOICES = 24
"""Plans of a query among which `recombine` chooses: those that were met last."""

RECOMBINING = 1.0
"""Of CP-SAT's deterministic seconds."""


@dataclass(frozen=True)
class ReuseOptions:
    """Off unless asked for, as a query's fragments are its own."""

    reuse: bool = option(False, "queries read derived streams that other queries run, as the paper has it")


def refused(problem: Problem, query: Query) -> str:
    """What makes a query impossible before any search; "" if nothing does."""
    index = problem.cluster.index
    if not query.operators:
        return f"query {query.name} has no operators"
    for node in query.deliver_to:
        if node not in index:
            return f"query {query.name} should be delivered to {node}, which is not in the cluster"
    for alias, stream in query.sources.items():
        if not any(origin in index for origin in problem.streams[stream].origins):
            origins = ", ".join(problem.streams[stream].origins) or "no node"
            return f"stream {stream} (alias {alias}) enters at {origins}: none is in the cluster"
    stuck = next((op for op in query.operators if not allowed_nodes(problem, query, op)), None)
    return no_place(problem, query, stuck) if stuck else ""


def plan_all(
    problem: Problem,
    planner: Planner,
    fallback: Fallback,
    deadline: float,
    rounds: int = MAX_ROUNDS,
    reuse: bool = True,
) -> tuple[Ledger, dict[str, SinglePlacement], list[Rejection], dict[str, PlanSpace]]:
    """Queries by priority, then by name; then rounds in which each is taken out and planned again,
    kept only where the whole gets better.

    With reuse from two starts, each query reading what runs already and each for itself; the better
    end is taken, so that sharing is never dearer than not to share.
    """
    reasons = {query.name: refused(problem, query) for query in problem.queries}
    spaces = plan_spaces(problem, (query for query in problem.queries if not reasons[query.name]))
    private = {name: space.private() for name, space in spaces.items()}
    starts = [_place_all(problem, planner, fallback, reasons, spaces if reuse else private, reuse)]
    if reuse and len(spaces) > 1:
        _, alone, rejected = _place_all(problem, planner, fallback, reasons, private, False)
        ledger = Ledger(problem)
        placed = {name: replace(one, space=spaces[name]) for name, one in alone.items()}
        for placement in placed.values():
            ledger.add(placement.space, placement.root, placement.sink)
        starts.append((ledger, placed, rejected))
    for ledger, placed, _ in starts:
        for _ in range(rounds if len(placed) > 1 else 0):
            if not _improve(ledger, placed, planner, deadline):
                break
    ledger, placed, rejected = min(starts, key=lambda start: (len(start[2]), start[0].usage))
    return ledger, placed, rejected, spaces if reuse else private


def _place_all(
    problem: Problem,
    planner: Planner,
    fallback: Fallback,
    reasons: Mapping[str, str],
    spaces: Mapping[str, PlanSpace],
    reuse: bool,
) -> tuple[Ledger, dict[str, SinglePlacement], list[Rejection]]:
    """Each query given those before it."""
    ledger = Ledger(problem)
    placed: dict[str, SinglePlacement] = {}
    rejected: list[Rejection] = []
    for query in sorted(problem.queries, key=lambda q: (-q.priority, q.name)):
        if reasons[query.name]:
            rejected.append(Rejection(query.name, reasons[query.name]))
            continue
        space = spaces[query.name]
        placement = planner(ledger, space)
        if isinstance(placement, SinglePlacement):
            moved: Mapping[str, SinglePlacement] | Rejection = {query.name: placement}
        else:
            moved = fallback.admit(ledger, placed, space, placement, reuse)
        if isinstance(moved, Rejection):
            rejected.append(moved)
            continue
        for old in (placed[name] for name in moved if name in placed):
            ledger.remove(old.space, old.root, old.sink)
        for name, new in moved.items():
            ledger.add(new.space, new.root, new.sink)
            placed[name] = new
    return ledger, placed, rejected


def _improve(ledger: Ledger, placed: dict[str, SinglePlacement], planner: Planner, deadline: float) -> bool:
    """One round; whether it made the whole better."""
    improved = False
    for name, old in list(placed.items()):
        if perf_counter() > deadline:
            return False
        before = ledger.usage
        ledger.remove(old.space, old.root, old.sink)
        placement = planner(ledger, old.space)
        new = placement if isinstance(placement, SinglePlacement) else old
        ledger.add(new.space, new.root, new.sink)
        if ledger.usage < before * (1 - 1e-9):
            placed[name] = new
            improved = True
        elif new is not old:
            ledger.remove(new.space, new.root, new.sink)
            ledger.add(old.space, old.root, old.sink)
    return improved


def result(
    problem: Problem,
    strategy: str,
    planner: Planner,
    request: PlanRequest,
    *,
    reuse: bool = False,
    rounds: int = MAX_ROUNDS,
    recombined: bool = False,
    extra: Mapping[str, object] | None = None,
) -> Result:
    """Plans every query with `planner` and says how good the whole is known to be.

    `recombined`: where capacities bind and the bound leaves a gap, a plan is chosen anew for each query
    among those met on the way to the bound, for all queries together.
    """
    started = perf_counter()
    deadline = started + request.time_limit
    fallback = Fallback(problem, request.seed, started, started + SEARCHING * request.time_limit)
    count = Count()
    planner = counted(planner, count)
    ledger, placed, rejected, spaces = plan_all(problem, planner, fallback, deadline, rounds, reuse)
    order = [q.name for q in problem.queries if q.name in placed]
    bound, relaxation = 0.0, None
    if order:
        relaxation = Relaxation(problem, [spaces[name] for name in order])
        ascent = ascent_of(problem, [spaces[name] for name in order]) if recombined and reuse else None
        if ascent is not None:
            ascent.run(ledger.usage, deadline)
            bound = ascent.bound
            chosen = dict(zip(order, ascent.plans(), strict=True))
            ledger, placed = _followed(problem, ledger, placed, chosen, planner, deadline, rounds)
        if ascent is None or limited(problem):
            bound = max(bound, relaxation.bound(ledger.usage, deadline, relaxation.rounds))
        gap = ledger.usage > bound * (1 + 1e-6)
        if recombined and gap and relaxation.binding and perf_counter() < deadline:
            steps_of = dict(zip(order, relaxation.candidates, strict=True))
            ledger, placed = _recombined(
                problem, ledger, placed, steps_of, planner, deadline, rounds, request.seed
            )
        if recombined and ledger.usage > bound * (1 + 1e-6) and perf_counter() < deadline:
            together = Together(problem, ledger, placed, reuse, request.seed, deadline)
            bound = max(bound, together.improve())
    order = [q.name for q in problem.queries if q.name in placed]
    plan = Plan(tuple(query_plan(problem, placed[name], ledger) for name in order), tuple(rejected))
    value = max(ledger.usage, 0.0)
    space: Space | None
    if any(spaces[name].draft.written_order for name in order):
        space = Space.SOME_ORDERS
    elif relaxation is not None:
        space = proof_space(((q.space.query, q.place) for q in relaxation.queries), relaxation.binding)
    else:
        space = None
    as_written = space is not None and space.as_written
    planned = Result(
        plan=plan,
        strategy=strategy,
        objective=request.objective.name,
        value=value,
        bound=None if as_written else min(bound, value),
        proven=False,
        evaluations=count.plans,
        seconds=perf_counter() - started,
        seed=request.seed,
        space=space,
        extra=extra or {},
    )
    return with_proof(planned, not as_written and value <= bound * (1 + 1e-9) + 1e-12)


def _recombined(
    problem: Problem,
    ledger: Ledger,
    placed: dict[str, SinglePlacement],
    steps_of: Mapping[str, Iterable[tuple[Step, int]]],
    planner: Planner,
    deadline: float,
    rounds: int,
    seed: int,
) -> tuple[Ledger, dict[str, SinglePlacement]]:
    """The best of these plans, improved in rounds, if that is better than what there is."""
    choices = {}
    for name, old in placed.items():
        others = [SinglePlacement(old.space, root, sink, 0.0) for root, sink in steps_of[name]]
        choices[name] = [old, *candidates(problem, old.space, others)[-MOST_CHOICES:]]
    chosen = recombine(problem, choices, min(RECOMBINING, deadline - perf_counter()), seed)
    return _better(problem, ledger, placed, chosen or placed, planner, deadline, rounds)


def _followed(
    problem: Problem,
    ledger: Ledger,
    placed: dict[str, SinglePlacement],
    chosen: Mapping[str, tuple[Step, int]],
    planner: Planner,
    deadline: float,
    rounds: int,
) -> tuple[Ledger, dict[str, SinglePlacement]]:
    """Plans that agree with each other on who shares what, improved in rounds, if that is better."""
    if any(one.space.query.max_latency < inf for one in placed.values()):
        return ledger, placed
    others = {name: SinglePlacement(placed[name].space, *plan, 0.0) for name, plan in chosen.items()}
    return _better(problem, ledger, placed, others, planner, deadline, rounds)


def _better(
    problem: Problem,
    ledger: Ledger,
    placed: dict[str, SinglePlacement],
    chosen: dict[str, SinglePlacement],
    planner: Planner,
    deadline: float,
    rounds: int,
) -> tuple[Ledger, dict[str, SinglePlacement]]:
    """What is placed, or what is chosen, improved in rounds, if that fits and is better."""
    if chosen is placed:
        return ledger, placed
    fresh = Ledger(problem)
    for placement in chosen.values():
        if next(fresh.overloads(placement.space, placement.root, placement.sink), None) is not None:
            return ledger, placed
        fresh.add(placement.space, placement.root, placement.sink)
    for _ in range(rounds):
        if not _improve(fresh, chosen, planner, deadline):
            break
    return (fresh, chosen) if fresh.usage < ledger.usage * (1 - 1e-9) else (ledger, placed)


def counted(planner: Planner, count: Count) -> Planner:
    """The planner, with what it compares counted; bounds and what solvers look at are not."""

    def plan(ledger: Ledger, space: PlanSpace) -> SinglePlacement | Refusal:
        with counting(count):
            return planner(ledger, space)

    return plan
