"""Loads are increasing piecewise polynomials with exact roots."""

from math import inf, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.cost.load import Load, root, total, value

coefficients = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6)), min_size=1, max_size=14)
loads = st.builds(
    lambda c, limit: Load.of(*c) if limit is None else Load.of(*c).at_most(limit),
    coefficients,
    st.none() | st.floats(1e-3, 1e6),
)


@given(coefficients, st.floats(1e-3, 1e9))
def test_the_root_is_where_the_load_reaches_the_capacity(polynomial: list[float], capacity: float) -> None:
    x = root(tuple(polynomial), capacity)
    if x == -1:
        assert polynomial[0] > capacity
    elif x == inf:
        assert not any(polynomial[1:])
    else:
        assert isclose(value(tuple(polynomial), x), capacity, rel_tol=1e-9)


@given(loads, loads, st.floats(0, 50))
def test_sums_and_products_are_those_of_the_values(a: Load, b: Load, x: float) -> None:
    assert isclose((a + b)(x), a(x) + b(x), rel_tol=1e-9, abs_tol=1e-12)
    assert isclose((a * b)(x), a(x) * b(x), rel_tol=1e-9, abs_tol=1e-12)
    assert isclose(total([a, b, a])(x), 2 * a(x) + b(x), rel_tol=1e-9, abs_tol=1e-12)


@given(loads, st.floats(1e-3, 1e6), st.floats(0, 50))
def test_a_minimum_is_the_minimum(load: Load, limit: float, x: float) -> None:
    assert isclose(load.at_most(limit)(x), min(load(x), limit), rel_tol=1e-9, abs_tol=1e-12)


@given(loads, loads, st.floats(1e-3, 1e9))
def test_the_root_of_a_piecewise_load_is_on_its_own_piece(a: Load, b: Load, capacity: float) -> None:
    load = a * b + a
    x = load.root(capacity)
    if x == -1:
        assert load(0.0) > capacity
    elif x != inf:
        assert isclose(load(x), capacity, rel_tol=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 5, 13])
def test_a_single_power_has_its_closed_form(degree: int) -> None:
    assert root((*[0.0] * degree, 3.0), 3.0 * 7.0**degree) == pytest.approx(7.0, rel=1e-15)
