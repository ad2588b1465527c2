"""Loads as whole numbers: what fits in them fits in truth, and by how little a full host is missed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.admission.planner import SqprPlanner
from weir_placement.admission.request import StreamRequest
from weir_placement.admission.system import DataStream, HostResources, SharedOperator, StreamSystem
from weir_placement.admission.whole_numbers import PARTS, whole_numbers

LOADS = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=30)
SIMPLE = st.lists(st.fractions(0, 3, max_denominator=12).map(float), min_size=1, max_size=8)


@given(LOADS, st.floats(0.1, 10.0))
def test_what_fits_in_whole_numbers_fits(loads: list[float], capacity: float) -> None:
    whole, most, unit = whole_numbers(loads, capacity, capacity)
    noise = 2e-6 * unit * len(loads)
    for load, number in zip(loads, whole, strict=True):
        assert load - noise <= number * unit
    assert most * unit <= capacity + noise


@given(LOADS, st.floats(0.1, 10.0))
def test_a_load_counts_at_most_a_unit_too_much(loads: list[float], capacity: float) -> None:
    whole, most, unit = whole_numbers(loads, capacity, capacity)
    assert unit <= capacity / PARTS or whole == pytest.approx([load / unit for load in loads])
    for load, number in zip(loads, whole, strict=True):
        assert number * unit <= load + unit
    assert most * unit >= capacity - unit


@given(SIMPLE)
def test_fractions_that_fill_a_capacity_fit(loads: list[float]) -> None:
    """Twelfths and such have a common denominator: nothing is rounded."""
    whole, most, _ = whole_numbers(loads, sum(loads), sum(loads))
    assert sum(whole) == most


def test_two_loads_that_are_a_little_more_than_the_host_are_refused() -> None:
    half = 0.5 + 4e-8
    base = DataStream("A", 1, frozenset({0}))
    operators = (SharedOperator((0,), 1, half), SharedOperator((0,), 2, half))
    system = StreamSystem((HostResources("a", 1),), (base, DataStream("f", 1), DataStream("g", 1)), operators)
    verdicts = SqprPlanner(system).submit(StreamRequest("f", 1), StreamRequest("g", 2))
    assert sum(verdict.admitted for verdict in verdicts) == 1
