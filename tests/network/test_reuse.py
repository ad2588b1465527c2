"""Derived streams that several queries share: counted once by planner and cost model, said in the report."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.problem import Overheads, Problem
from weir_placement.report import read_plan, report
from weir_placement.strategies import STRATEGIES

from tests.network.example import small_problem


def plan(problem: Problem, reuse: str = "on", name: str = "exact-dp"):
    return STRATEGIES[name].plan(
        problem, objective="network-usage", seed=0, time_limit=10.0, options={"reuse": reuse}
    )


@given(st.integers(0, 10_000), st.sampled_from(["exact-dp", "top-down", "bottom-up", "top-down-refined"]))
@settings(max_examples=20, deadline=None)
def test_the_cost_model_counts_what_the_planner_counted(seed, name):
    """Flows and loads of shared operators once: usage equal, and nothing beyond a capacity."""
    problem = small_problem(seed, nodes=6, width=3, queries=6, streams=4, cpu=0.04, cost=40.0)
    result = plan(problem, name=name)
    evaluation = evaluate(problem, result.plan)
    assert evaluation.feasible, evaluation.reasons
    assert evaluation.network_usage == pytest.approx(result.value, rel=1e-9)
    assert evaluation.headroom is None or evaluation.headroom >= 1 - 1e-9


def twins(count: int = 3) -> Problem:
    problem = small_problem(7, nodes=5, width=3, cost=50.0)
    queries = tuple(replace(problem.queries[0], name=f"bench/q{i}") for i in range(count))
    return replace(problem, queries=queries, overheads=Overheads(1000.0, 1e6, 2.0, 0.0))


def test_equal_queries_run_once_and_say_so():
    problem = twins()
    result = plan(problem)
    shown = report(problem, result)
    alone = report(problem, plan(replace(problem, queries=problem.queries[:1], overheads=problem.overheads)))
    assert shown["networkUsageBytes"] == pytest.approx(shown["objectiveValue"])
    assert shown["networkUsageBytes"] == pytest.approx(alone["networkUsageBytes"])
    assert shown["fragments"] == alone["fragments"]
    for node, other in zip(shown["nodes"], alone["nodes"], strict=True):
        assert node["cpu"] == pytest.approx(other["cpu"])
        assert node["memoryBytes"] == pytest.approx(other["memoryBytes"])
    for query in shown["queries"]:
        for op in query["operators"]:
            name = op["id"].split("/", 1)[1]
            assert set(op["sharedWith"]) == {
                f"{q.name}/{name}" for q in problem.queries if q.name != query["name"]
            }
    assert {f["stream"] for f in shown["flows"]} <= {
        *problem.streams,
        *(op["id"] for op in shown["queries"][0]["operators"]),
    }


def test_a_shared_join_is_written_for_its_readers():
    """What only one of the sharers reads on goes through an exchange, at both ends of which it costs."""
    problem = twins(2)
    wider = replace(problem.queries[0], name="bench/wider")
    part = replace(wider, operators=wider.operators[:1], sources=dict(list(wider.sources.items())[:2]))
    both = replace(problem, queries=(replace(part, name="bench/part"), wider))
    result = plan(both)
    first, second = result.plan.queries
    common = set(first.shared.values()) & set(second.shared.values())
    if not common:
        pytest.fail("this example is meant to share its first join")
    evaluation = evaluate(both, result.plan)
    assert evaluation.fragments == 2
    assert evaluation.network_usage == pytest.approx(result.value)


def test_the_report_can_be_read_back_and_scored_the_same():
    problem = twins()
    result = plan(problem)
    again = read_plan(problem, report(problem, result))
    first, second = evaluate(problem, result.plan), evaluate(problem, again)
    assert second.network_usage == pytest.approx(first.network_usage)
    assert second.fragments == first.fragments
    assert second.loads.keys() == first.loads.keys()
    for node, load in first.loads.items():
        assert second.loads[node].cpu(1.0) == pytest.approx(load.cpu(1.0))


def test_without_reuse_nothing_is_shared():
    result = plan(twins(), reuse="off")
    assert not any(q.shared for q in result.plan.queries)
    assert all(not op["sharedWith"] for q in report(twins(), result)["queries"] for op in q["operators"])


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_sharing_is_never_dearer_than_not_to_share(seed):
    problem = small_problem(seed, nodes=8, width=3, queries=6, streams=4)
    assert plan(problem).value <= plan(problem, reuse="off").value * (1 + 1e-9)
