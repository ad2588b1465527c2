"""The heap for a query's state is seen before its pods are asked for: by quotas, limit ranges, nodes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from weir_operator.planning.memory import too_large
from weir_operator.planning.policies import Overrides, PlannedPolicy, plan_policies
from weir_placement.cost.evaluation import evaluate
from weir_placement.cost.flows import flows_of, scaled
from weir_placement.cost.heap import heap_mb, largest_heap_mb, state_heap_mb
from weir_placement.fragments import groups_of
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Placed, Problem

from tests.manifests.scene import FILTER, JOIN, NODES, built, graph, messages, stream
from tests.search.random_problems import random_problem
from tests.tenancy.test_namespaces import LEAST, budgets, container, limits, quota

MEBIBYTE = 2**20
BUSY = [stream(name, rate="1k") for name in ("a", "b")]
DAY = {**JOIN, "window": "24h"}
"""Rows of 32 bytes, 1,000 a second of each stream: 5.5 GB in a day."""
HOURS = {**JOIN, "window": "2h"}


def plan(*raw: Any) -> PlannedPolicy:
    group = built(*raw)
    assert group.findings == ()
    (planned,) = plan_policies(group.groups, Overrides(seed=1, time_limit=1.0))
    return planned


def reasons(planned: PlannedPolicy) -> Mapping[str, str]:
    return {rejection.query: rejection.reason for rejection in planned.result.plan.rejected}


def test_a_budget_has_what_the_state_asks_for_once() -> None:
    queries = [graph("q", HOURS), graph("r", FILTER), graph("s", HOURS, resources={"memory": "8Gi"})]
    actual = budgets(quota({"requests.memory": "9Gi", "pods": "9"}), *BUSY, *queries)
    memory = actual["requests.memory"]
    assert memory.each == {"default/q": LEAST, "default/r": LEAST, "default/s": 8 * 2**30}
    assert memory.state.keys() == {"default/q"}, "what the others ask for is enough"
    more = memory.state["default/q"]
    assert more % (128 * MEBIBYTE) == 0
    assert 256 * MEBIBYTE <= more <= 1024 * MEBIBYTE
    assert [memory.of("default/q", n) for n in (0, 1, 3)] == [0, LEAST + more, 3 * LEAST + more]
    assert actual["pods"].state == {}


def test_a_quota_refuses_a_query_whose_state_is_too_large_for_it() -> None:
    two = graph("q", HOURS, priority=1), graph("r", FILTER)
    planned = plan(*NODES, *BUSY, quota({"requests.memory": "1300Mi"}), *two)
    assert reasons(planned).keys() == {"default/q"}
    reason = reasons(planned)["default/q"]
    assert reason.startswith("requests.memory of ResourceQuota default/small: ")
    assert "needed for at least 1 fragment of 1212Mi, and " in reason
    assert "Mi for its state, 1300Mi left of 1300Mi" in reason


def test_a_limit_range_refuses_a_pod_with_so_large_a_heap() -> None:
    item = limits(container(max={"memory": "2Gi"}))
    assert messages(*NODES, *BUSY, item, graph("q", FILTER)) == []
    (actual,) = messages(*NODES, *BUSY, item, graph("q", DAY))
    assert "Mi of memory, above the maximum of 2Gi for a Container in LimitRange default/range" in actual


def test_state_that_no_node_has_memory_for_is_refused_in_words() -> None:
    two = graph("q", {**JOIN, "window": "48h"}, priority=1), graph("r", HOURS)
    planned = plan(*NODES, *BUSY, *two)
    assert reasons(planned).keys() == {"default/q"}
    reason = reasons(planned)["default/q"]
    assert reason.startswith("memory of node n")
    assert "of it by this query, but only 8192Mi available; give the query shorter windows" in reason
    assert planned.result.value is not None
    assert planned.result.value >= 1.0


def test_the_least_important_query_goes() -> None:
    """One fits into 8 GiB, two do not."""
    queries = [graph(name, DAY, priority=priority) for name, priority in (("q", 1), ("r", 2))]
    planned = plan(NODES[0], *BUSY, *queries)
    assert reasons(planned).keys() == {"default/q"}
    assert [placed.query.name for placed in planned.result.plan.queries] == ["default/r"]


def busy_problem(seed: int) -> tuple[Problem, list[QueryPlan]]:
    """Random queries, of gigabytes of state, each with a random plan."""
    r, problem = random.Random(seed), random_problem(seed, operators=8)
    streams = {name: replace(item, rate=item.rate * 2e5) for name, item in problem.streams.items()}
    names = [node.name for node in problem.cluster.nodes]
    nodes = tuple(replace(node, memory=r.uniform(1e9, 1e11)) for node in problem.cluster.nodes)
    (query,) = problem.queries
    queries = tuple(replace(query, name=f"default/q{i}", priority=r.randint(0, 2)) for i in range(4))
    plans = [
        QueryPlan(
            each,
            {op.id: r.choice(names) for op in each.operators},
            {alias: streams[name].origins[0] for alias, name in each.sources.items()},
        )
        for each in queries
    ]
    cluster = replace(problem.cluster, nodes=nodes)
    return replace(problem, streams=streams, queries=queries, cluster=cluster, in_force=()), plans


@pytest.mark.parametrize("seed", range(30))
def test_heaps_of_all_fragments_are_within_what_the_query_is_reckoned_with(seed: int) -> None:
    """However it is cut, and none is smaller than that of the largest operator."""
    problem, plans = busy_problem(seed)
    for placed in plans:
        rates = {name: stream.rate for name, stream in problem.streams.items()}
        flows = flows_of(placed.query, problem.streams, scaled(rates))
        heaps = [heap_mb(members, flows, 512, 0) for members in groups_of(placed).values()]
        assert sum(heap - 512 for heap in heaps) <= state_heap_mb(problem, placed.query, 512, 0) - 512
        assert max(heaps) >= largest_heap_mb(problem, placed.query, 512, 0)


@pytest.mark.parametrize("seed", range(30))
def test_without_what_is_too_large_memory_is_enough_and_no_more_goes(seed: int) -> None:
    problem, plans = busy_problem(seed)
    gone = [rejection.query for rejection in too_large(problem, Plan(tuple(plans)))]

    def short(without: set[str]) -> bool:
        left = Plan(tuple(p for p in plans if p.query.name not in without))
        return any(c.resource == "memory" and c.share > 1 + 1e-6 for c in evaluate(problem, left).constraints)

    assert not short({*gone})
    if gone:
        assert short({*gone[:-1]})
        in_force = tuple(Placed(gone[0], "o0", node) for node in problem.cluster.names[:1])
        kept = too_large(replace(problem, in_force=in_force), Plan(tuple(plans)))
        assert gone[0] not in {rejection.query for rejection in kept}
