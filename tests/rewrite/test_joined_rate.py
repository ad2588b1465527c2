"""The rate of a joined set belongs to its streams and conditions, however a query is written or rewritten."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import prod
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.bench.joined_rates import SECONDS, random_case
from weir_placement.bench.joined_rates import rates as joined_rates
from weir_placement.cost.flows import flows_of
from weir_placement.cost.load import Load
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Join
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Stream
from weir_placement.network.plan_space import plan_space
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.rewrite.sql import query_from_sql

from tests.rewrite.written import CYCLIC, STREAMS, sql


def rates(query: Query, streams: dict[str, Stream] = STREAMS) -> dict[frozenset[str], float]:
    """Of every joined set of aliases in the plan [rows/s]."""
    flows = flows_of(query, streams, {n: Load.of(s.rate) for n, s in streams.items()})
    below = {a: frozenset([a]) for a in query.sources}
    result = {}
    for op in query.operators:
        below[op.id] = frozenset().union(*(below[i] for i in op.inputs))
        if isinstance(op, Join):
            result[below[op.id]] = flows[op.id].rate(1.0)
    return result


def same(one: dict[frozenset[str], float], other: dict[frozenset[str], float]) -> None:
    for aliases in one.keys() & other.keys():
        assert one[aliases] == pytest.approx(other[aliases]), set(aliases)


def test_cyclic_windows_count_as_a_volume_in_written_plans_too() -> None:
    """9 x 10 x 11 rows/s, 3 w^2 = 75 s^2, distinct values 10, 40 and 20: all but the least count."""
    written = rates(query_from_sql("d/q", sql("abc", ("ab", "bc"), CYCLIC), STREAMS))
    assert written[frozenset("abc")] == pytest.approx(9 * 10 * 11 * 75 / (40 * 20))


@given(
    st.permutations("abcd"),
    st.sampled_from([("ab", "bc", "cd"), ("ac", "bc", "ad"), ("ad", "bd", "cd"), ("ab", "cd", "bc", "ad")]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40, deadline=None)
def test_every_way_of_writing_gives_every_set_one_rate(order, equal, joined, random) -> None:
    windows = {"ab": 5, "bc": 3, "ac": 4, "cd": 2, "bd": 6, "ad": 5}
    reference = query_from_sql("d/q", sql("abcd", ("ab", "bc", "cd"), windows), STREAMS)
    expected: dict[frozenset[str], float] = {}
    for plan in Rewriter(reference, STREAMS).reachable(200):
        expected |= rates(plan)
    assert len(expected) == 11, "every set of two or more"
    shuffled = list(windows.items())
    random.shuffle(shuffled)
    equal = random.sample(equal, len(equal))
    turned = {(x + y if random.random() < 0.5 else y + x): w for (x, y), w in shuffled}
    written = query_from_sql("d/q", sql("".join(order), tuple(equal), turned, joined), STREAMS)
    same(rates(written), expected)


def test_rewriting_keeps_the_rate_of_every_set() -> None:
    for order in permutations("abc"):
        written = query_from_sql("d/q", sql("".join(order), ("ab", "bc"), CYCLIC), STREAMS)
        final = set()
        for plan in Rewriter(written, STREAMS).reachable():
            final.add(round(rates(plan)[frozenset("abc")], 9))
        assert len(final) == 1


def test_a_selectivity_that_was_measured_stays_what_it_was() -> None:
    """A written .075 in a plan that runs, two windows meeting in one join."""
    written = query_from_sql("d/q", sql("abc", ("ab", "bc"), CYCLIC), STREAMS)
    measured = replace(
        written,
        operators=tuple(
            replace(o, selectivity=0.075 if o.id == "j2" else 0.02) if isinstance(o, Join) else o
            for o in written.operators
        ),
    )
    total = 9 * 10 * 11 * prod(2 * 5 * s for s in (0.02, 0.075))
    assert rates(measured)[frozenset("abc")] == pytest.approx(total)
    for plan in Rewriter(measured, STREAMS).reachable():
        assert rates(plan)[frozenset("abc")] == pytest.approx(total)
    for plan in (o for o in Rewriter(measured, STREAMS).reachable() if frozenset("ab") in rates(o)):
        assert rates(plan)[frozenset("ab")] == pytest.approx(9 * 10 * 2 * 5 * 0.02)


def test_both_objectives_have_the_same_rates() -> None:
    cluster = Cluster((Node("n1", 1.0),), Network.uniform(1, 0.0))
    for equal in (("ab", "bc"), ("ac", "bc")):
        written = query_from_sql("d/q", sql("abc", equal, CYCLIC), STREAMS)
        space = plan_space(Problem(cluster, STREAMS, (written,)), written)
        by_network = 9 * 10 * 11 * space.draft.rates[0][-1]  # of sources of 1 row/s
        assert by_network == pytest.approx(rates(written)[frozenset("abc")])


def test_an_implied_equality_without_declared_values_is_as_selective_as_the_least_written_one() -> None:
    bare = {name: replace(s, distinct={}) for name, s in STREAMS.items()}
    written = query_from_sql("d/q", sql("abc", ("ab", "bc"), CYCLIC), bare)
    joins = {"j1": 0.1, "j2": 0.001}
    stated = replace(
        written,
        operators=tuple(
            replace(o, selectivity=joins[o.id]) if isinstance(o, Join) else o for o in written.operators
        ),
    )
    result: dict[frozenset[str], float] = {}
    for plan in Rewriter(stated, bare).reachable():
        result |= rates(plan, bare)
    assert result[frozenset("ab")] == pytest.approx(9 * 10 * 10 * 0.1)
    assert result[frozenset("ac")] == pytest.approx(9 * 11 * 10 * 0.1)


@pytest.mark.parametrize("cyclic", [False, True])
def test_estimates_are_near_the_counts_on_random_rows(cyclic: bool) -> None:
    case = random_case(Random(3), 3, cyclic, skewed=False)
    for aliases, rate in joined_rates(case.query, case.streams).items():
        assert rate * SECONDS == pytest.approx(case.count(aliases), rel=0.1), aliases


def test_an_equality_that_only_follows_above_a_join_is_not_counted_below_it() -> None:
    """a and b are joined on m; that their keys are equal follows from c, which comes later."""
    windows = {"ab": 5, "ac": 5, "bc": 5}
    text = sql("abc", ("ac", "bc"), windows) + " AND a.m = b.m"
    measured = rates(query_from_sql("d/q", text, STREAMS))
    assert measured[frozenset("ab")] == pytest.approx(9 * 10 * 10 / 100)
    assert measured[frozenset("abc")] == pytest.approx(9 * 10 * 11 * 75 / 100 / (40 * 20))
