"""The exact root ends on every polynomial: a Newton step below the last place must not be waited for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from weir_placement.cost.load import root, value

HANGING = (
    (1.1726076041275486, 0.0007832637347776311, 0.006656312775838204, 0.0003545439295920649),
    1.1748063453458006,
)
coefficients = st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=4)


def test_a_root_that_once_was_never_reached() -> None:
    polynomial, capacity = HANGING
    x = root(polynomial, capacity)
    assert abs(value(polynomial, x) - capacity) <= 1e-12


@given(coefficients, st.floats(1e-3, 1e7))
def test_the_root_reaches_the_capacity(polynomial: list[float], free: float) -> None:
    capacity = polynomial[0] + free
    x = root(tuple(polynomial), capacity)
    assert abs(value(tuple(polynomial), x) - capacity) <= 1e-9 * capacity
