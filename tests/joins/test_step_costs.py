"""Equations 1 to 3, by hand and by what follows from them; what is refused."""

from itertools import permutations
from math import inf, isclose

import pytest
from hypothesis import given
from weir_placement.joins.plan import Sep, flows
from weir_placement.joins.streams import (
    JoinStream,
    MultiwayJoin,
    Partial,
    StepCosts,
    placed_cost,
    step_cost,
    windowed,
)
from weir_placement.joins.subsets import carried_by_set

from tests.joins.random_joins import PAPER, joins

COSTS = StepCosts(probe=0.001, update=0.002, latency=0.5, bandwidth=1000.0)
STREAM = JoinStream("B", rate=10.0, selectivity=0.1, size=20.0, window=5.0)


def test_equation_1_ships_the_stream_updates_and_probes() -> None:
    flow = Partial(rate=4.0, selectivity=0.2, size=30.0)
    assert isclose(placed_cost(flow, STREAM, 0, COSTS), (0.5 + 10 * 20 / 1000) + 10 * 0.002 + 4 * 0.001 * 5)


def test_equation_2_ships_the_flow() -> None:
    flow = Partial(rate=4.0, selectivity=0.2, size=30.0)
    assert isclose(placed_cost(flow, STREAM, 1, COSTS), (0.5 + 4 * 30 / 1000) + 10 * 0.002 + 4 * 0.001 * 5)


def test_equation_3_takes_the_cheaper_one_and_the_source_on_a_tie() -> None:
    assert step_cost(Partial(4.0, 0.2, 30.0), STREAM, COSTS).bit == 1
    assert step_cost(Partial(4.0, 0.2, 60.0), STREAM, COSTS).bit == 0
    assert step_cost(Partial(10.0, 0.2, 20.0), STREAM, COSTS).bit == 0


def test_a_flow_takes_the_smaller_selectivity_of_a_step_and_keeps_the_larger() -> None:
    assert Partial(4.0, 0.2, 30.0).joined(STREAM) == Partial(4.0 * 0.1 * 5.0, 0.2, 50.0)
    assert Partial(4.0, 0.05, 30.0).joined(STREAM) == Partial(4.0 * 0.05 * 5.0, 0.1, 50.0)


@given(joins())
def test_what_a_chain_carries_at_the_end_does_not_depend_on_the_order(join: MultiwayJoin) -> None:
    bits = (0,) * (join.width - 1)
    ends = [flows(join, Sep(0, order, bits))[-1] for order in permutations(range(1, join.width))]
    for end in ends:
        assert all(isclose(a, b, rel_tol=1e-9) for a, b in zip(end, ends[0], strict=True))


@given(joins())
def test_sets_of_streams_carry_what_single_steps_do(join: MultiwayJoin) -> None:
    head = join.width // 2
    others = [stream for stream in range(join.width) if stream != head]
    rates, sizes = carried_by_set(join, head)
    for joined in range(1 << len(others)):
        order = tuple(stream for bit, stream in enumerate(others) if joined >> bit & 1)
        flow = flows(join, Sep(head, order, (0,) * len(order)))[-1]
        assert isclose(rates[joined], flow.rate, rel_tol=1e-9)
        assert isclose(sizes[joined], flow.size, rel_tol=1e-9)


def test_more_than_ten_streams_are_refused_by_name() -> None:
    streams = tuple(windowed(f"sensor-{k}", 100, 0.01, 150, 0.5) for k in range(11))
    with pytest.raises(ValueError, match=r"11 streams \(sensor-0, .*sensor-10\): from 2 to 10"):
        MultiwayJoin(streams, PAPER)
    with pytest.raises(ValueError, match="1 streams"):
        MultiwayJoin(streams[:1], PAPER)


def test_an_unbounded_window_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="stream rain: its window is unbounded"):
        windowed("rain", 100, 0.01, 150, inf)


@pytest.mark.parametrize(
    ("field", "value"), [("rate", -1.0), ("selectivity", 1.5), ("size", float("nan")), ("window", -2.0)]
)
def test_a_statistic_out_of_its_range_is_refused_by_name(field: str, value: float) -> None:
    values = {"rate": 1.0, "selectivity": 0.1, "size": 1.0, "window": 1.0, field: value}
    with pytest.raises(ValueError, match=f"stream rain: {field} is"):
        JoinStream("rain", **values)


def test_costs_out_of_their_range_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="latency is -1"):
        StepCosts(0.0, 0.0, -1.0, 1.0)
    with pytest.raises(ValueError, match="bandwidth is 0"):
        StepCosts(0.0, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="stream A is given twice"):
        MultiwayJoin((windowed("A", 1, 0.1, 1, 1), windowed("A", 1, 0.1, 1, 1)), PAPER)
