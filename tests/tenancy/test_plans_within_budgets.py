"""Plans of problems with budgets against every plan there is: no budget is broken, and nobody is refused whom
another plan would admit."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from weir_placement.budget.compact import fewest_fragments
from weir_placement.cost.budget import exceeded, fragments_of
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.cost.flows import fragment_ends
from weir_placement.model.operators import Operator
from weir_placement.model.plan import Result
from weir_placement.model.problem import Budget, Problem
from weir_placement.strategies import STRATEGIES

from tests.cost.example import cluster, filter_, join, problem, stream
from tests.search.placements import placements
from tests.search.random_problems import random_problem

STRATEGY = {"headroom": "auto", "network-usage": "exact-dp"}


def plan(p: Problem, strategy: str = "auto", objective: str = "headroom") -> Result:
    function = STRATEGIES[strategy].plan
    return function(p, objective=objective, seed=1, time_limit=10.0, options={})  # type: ignore[arg-type]


def pods(left: float, *queries: str) -> Budget:
    return Budget("pods of ResourceQuota default/small", left, 9.0, dict.fromkeys(queries, 1.0))


def two_queries(seed: int) -> Problem:
    """Two small queries, the first one the more important, whose operators may not run everywhere."""
    r = random.Random(seed)
    p = random_problem(seed, operators=3, nodes=3, limits=False)
    names = p.cluster.names
    streams = {name: replace(s, origins=s.origins[:1]) for name, s in p.streams.items()}
    (query,) = p.queries
    queries = []
    for name, priority in (("default/q", 1), ("default/r", 0)):
        operators = tuple(
            replace(op, nodes=tuple(r.sample(names, min(len(names), r.randint(1, 2)))))
            for op in query.operators
        )
        queries.append(
            replace(
                query, name=name, operators=operators, priority=priority, fixed_order=True, deliver_to=(),
                max_latency=r.choice([query.max_latency, 0.15]),
            )
        )  # fmt: skip
    budgets = (
        Budget("requests.cpu of ResourceQuota default/x", r.choice([0.2, 0.5, 0.9]), 1.0,
               {"default/q": 0.1, "default/r": r.choice([0.1, 0.3])}, "cores"),
        pods(r.randint(1, 5), *r.sample(["default/q", "default/r"], r.randint(1, 2))),
    )  # fmt: skip
    return replace(p, streams=streams, queries=tuple(queries), budgets=budgets, in_force=())


def possible(p: Problem, names: set[str], objective: str) -> bool:
    """Whether some plan of these queries is feasible, budgets included; for least network usage it must carry
    the profile."""
    part = replace(p, queries=tuple(q for q in p.queries if q.name in names))
    least = 0.0 if objective == "headroom" else 1.0
    return any(evaluate(p, placed).rank >= least for placed in placements(part))


@pytest.mark.parametrize("objective", ["headroom", "network-usage"])
@pytest.mark.parametrize("seed", range(60))
def test_as_many_are_admitted_as_by_enumeration(seed: int, objective: str) -> None:
    p = two_queries(seed)
    admitted: set[str] = set()
    for name in ("default/q", "default/r"):
        if possible(p, admitted | {name}, objective):
            admitted.add(name)
    result = plan(p, STRATEGY[objective], objective)
    assert {q.query.name for q in result.plan.queries} == admitted
    assert {r.query for r in result.plan.rejected} == {"default/q", "default/r"} - admitted
    evaluation = evaluate(p, result.plan)
    assert evaluation.reasons == ()
    if objective == "headroom":
        assert result.value is None or equal(result.value, evaluation.rank)
    elif result.plan.queries:
        assert result.value == pytest.approx(evaluation.network_usage)


def test_nine_of_ten_plans_within_budgets_have_the_most_headroom_there_is() -> None:
    reached = []
    for seed in range(100, 160):
        p = two_queries(seed)
        free, result = plan(replace(p, budgets=())), plan(p)
        names = {q.query.name for q in result.plan.queries}
        if not names or not exceeded(p, free.plan):
            continue
        part = replace(p, queries=tuple(q for q in p.queries if q.name in names))
        best = max(evaluate(p, one).rank for one in placements(part))
        reached.append(equal(evaluate(p, result.plan).rank, best))
    assert len(reached) > 20
    assert sum(reached) >= 0.9 * len(reached)


def chain(*nodes: tuple[str, ...]) -> Problem:
    """Filters one after the other, each on its own nodes."""
    operators: list[Operator] = []
    for i, allowed in enumerate(nodes):
        below = operators[-1].id if operators else "a"
        operator = filter_(f"f{i}", below, "a.k", 0.5, 100.0, *allowed)
        operators.append(replace(operator, predicate=f"a.k > {i}"))
    return problem(cluster([1.0, 1.0, 1.0], 0.01), [stream("a", 10, "n1")], operators)


def test_what_no_budget_binds_is_planned_as_without() -> None:
    p = chain((), (), ())
    bounded = replace(p, budgets=(pods(3, "default/q"),))
    assert plan(bounded).plan == plan(p).plan


def test_fragments_are_put_together_and_the_plan_stays_as_good_as_it_can() -> None:
    """Three branches that a plan without budgets spreads; two fragments are allowed."""
    branches = [filter_(f"{s}f", s, f"{s}.k", 0.5, 60_000.0) for s in "ab"]
    p = problem(
        cluster([1.0, 1.0, 1.0], 0.001),
        [stream("a", 10, "n1"), stream("b", 10, "n2")],
        [*branches, join("j", "af", "bf", "a.k", "b.k", 0.01, 40_000.0)],
        fixed_order=True,
    )
    free = plan(p)
    assert fragments_of(free.plan) == {"default/q": 3}
    bounded = replace(p, budgets=(pods(2, "default/q"),))
    result = plan(bounded)
    best = max(evaluate(bounded, one).rank for one in placements(p) if not exceeded(bounded, one))
    assert fragments_of(result.plan) == {"default/q": 2}
    assert result.value == pytest.approx(best)
    assert not result.proven


def test_the_refusal_names_quota_resource_need_and_rest() -> None:
    p = chain(("n1",), ("n2",))
    small = Budget("requests.cpu of ResourceQuota team/small", 0.15, 2.0, {"default/q": 0.1}, "cores")
    (refused,) = plan(replace(p, budgets=(small,))).plan.rejected
    assert refused.reason == (
        "requests.cpu of ResourceQuota team/small: 0.2 cores needed for at least 2 fragments of 0.1 cores, "
        "0.15 cores left of 2 cores"
    )


def test_the_important_query_goes_first_and_a_smaller_one_takes_what_it_leaves() -> None:
    (query,) = chain(("n1",), ("n2",)).queries
    one = replace(query, operators=query.operators[:1])
    queries = (
        replace(query, name="default/first", priority=2),
        replace(query, name="default/second", priority=1),
        replace(one, name="default/third", priority=0),
    )
    p = replace(chain(()), queries=queries, budgets=(pods(3, *(q.name for q in queries)),))
    result = plan(p)
    assert {q.query.name for q in result.plan.queries} == {"default/first", "default/third"}
    assert "1 left of 9" in result.plan.rejected[0].reason


def test_the_share_of_a_query_that_cannot_run_at_all_is_left_for_others() -> None:
    (query,) = chain(()).queries
    slow = replace(query, name="default/slow", priority=1, max_latency=1e-9)
    other = replace(query, name="default/other")
    p = replace(chain(()), queries=(slow, other), budgets=(pods(1, "default/slow", "default/other"),))
    result = plan(p)
    assert [q.query.name for q in result.plan.queries] == ["default/other"]
    assert "latency" in result.plan.rejected[0].reason


def test_the_fewest_fragments_of_operators_that_must_be_apart() -> None:
    p = chain(("n1",), ("n2",), ("n1",))
    (query,) = p.queries
    assert len(fragment_ends(fewest_fragments(p, replace(query, fixed_order=True)))) == 3
    assert len(fragment_ends(fewest_fragments(p, query))) == 2, "two filters change places"


@pytest.mark.parametrize("seed", range(40))
def test_fewest_fragments_by_enumeration(seed: int) -> None:
    p = replace(two_queries(seed), budgets=())
    for query in p.queries:
        alone = replace(p, queries=(query,))
        fewest = min(len(fragment_ends(one.queries[0])) for one in placements(alone))
        assert len(fragment_ends(fewest_fragments(alone, query))) == fewest


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_keeps_a_budget(name: str) -> None:
    strategy, p = STRATEGIES[name], chain(("n1", "n3"), ("n2", "n3"))
    (query,) = p.queries
    queries = (query, replace(query, name="default/r", priority=-1))
    for left, admitted in ((2, 2), (1, 1), (0, 0)):
        bounded = replace(p, queries=queries, budgets=(pods(left, "default/q", "default/r"),))
        result = plan(bounded, name, strategy.objectives[0].name)
        assert len(result.plan.queries) == admitted
        assert not exceeded(bounded, result.plan)
