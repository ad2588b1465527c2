"""Greedy and optimal plans against every plan there is."""

from itertools import permutations, product
from math import isclose
from random import Random

import pytest
from hypothesis import given
from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.operators import Ship, TupleFlow, Update, WindowJoin, operator_sets
from weir_placement.joins.optimal import nos_optimal, priced
from weir_placement.joins.plan import Sep, breaches, flows, plan_cost, step_costs
from weir_placement.joins.sharing import shared_cost
from weir_placement.joins.streams import MultiwayJoin, windowed

from tests.joins.random_joins import PAPER, joins, random_join


def every_sep(width: int, head: int) -> list[Sep]:
    others = [stream for stream in range(width) if stream != head]
    return [
        Sep(head, order, bits) for order in permutations(others) for bits in product((0, 1), repeat=width - 1)
    ]


@given(joins(most=5))
def test_nos_optimal_is_the_cheapest_of_all_orders_and_placements(join: MultiwayJoin) -> None:
    for sep in nos_optimal(join).plan:
        least = min(sum(step_costs(join, other)) for other in every_sep(join.width, sep.head))
        assert isclose(sum(step_costs(join, sep)), least, rel_tol=1e-9)


@given(joins(most=10))
def test_nos_greedy_keeps_invariant_4_and_is_no_cheaper_than_the_optimum(join: MultiwayJoin) -> None:
    greedy = nos_greedy(join)
    assert breaches(join, greedy) == []
    assert plan_cost(join, greedy) >= nos_optimal(join).cost * (1 - 1e-9)


def test_invariant_4_names_the_step_and_the_cheaper_stream() -> None:
    streams = [windowed(name, rate, 0.01, 150, 0.5) for name, rate in (("A", 100), ("B", 80), ("C", 40))]
    join = MultiwayJoin(tuple(streams), PAPER)
    plan = (Sep(0, (1, 2), (0, 0)), Sep(1, (2, 0), (0, 1)), Sep(2, (1, 0), (1, 1)))
    assert breaches(join, plan) == [(0, 0, 2)]


def test_greedy_is_not_optimal() -> None:
    """B is cheap to ship but multiplies the flow; joining C first makes the later step cheap."""
    streams = (
        windowed("A", 100, 0.1, 100, 1),
        windowed("B", 40, 0.1, 100, 1),
        windowed("C", 60, 0.001, 100, 1),
    )
    join = MultiwayJoin(streams, PAPER)
    greedy, optimal = nos_greedy(join), nos_optimal(join)
    assert greedy[0].order == (1, 2)
    assert optimal.plan[0].order == (2, 1)
    assert plan_cost(join, greedy) > optimal.cost


def cost_of_sets(join: MultiwayJoin, plan: tuple[Sep, ...]) -> float:
    """The shared cost again, from the operators of the nodes alone."""
    rates = {TupleFlow(s): (stream.rate, stream.size) for s, stream in enumerate(join.streams)}
    for sep in plan:
        carried = flows(join, sep)[1:]
        rates |= {TupleFlow(s, sep.head): (f.rate, f.size) for s, f in zip(sep.order, carried, strict=True)}
    total = 0.0
    for operators in operator_sets(plan):
        for operator in operators:
            match operator:
                case WindowJoin(left, stream):
                    total += rates[left][0] * join.costs.probe * join.streams[stream].window
                case Update(stream):
                    total += join.streams[stream].rate * join.costs.update
                case Ship(flow, node) if node >= 0:
                    total += join.costs.shipping(*rates[flow])
    return total


@given(joins(most=6))
def test_the_shared_cost_is_that_of_the_nodes_sets_without_the_ship_to_the_query_node(
    join: MultiwayJoin,
) -> None:
    random = Random(7)
    anything = tuple(random.choice(every_sep(join.width, head)) for head in range(join.width))
    for plan in (nos_greedy(join), nos_optimal(join).plan, anything):
        assert isclose(shared_cost(join, plan), cost_of_sets(join, plan), rel_tol=1e-9)
        assert shared_cost(join, plan) <= plan_cost(join, plan) * (1 + 1e-9)


def test_ten_streams_are_planned_with_both_costs() -> None:
    join = random_join(Random(3), 10)
    best, greedy = nos_optimal(join), priced(join, nos_greedy(join))
    assert best.cost <= greedy.cost
    assert best.shared <= best.cost
    assert isclose(best.cost, plan_cost(join, best.plan))


def test_a_sep_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="order"):
        Sep(0, (0, 1), (0, 0))
    with pytest.raises(ValueError, match="bits"):
        Sep(0, (1, 2), (0,))
    with pytest.raises(ValueError, match="bits"):
        Sep(0, (1, 2), (0, 2))
