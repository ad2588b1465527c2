"""Durations, quantities and bits a second, read and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError
from weir_operator.api.values import (
    format_bits,
    format_duration,
    format_quantity,
    parse_bits,
    parse_duration,
    parse_quantity,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("10s", 10.0),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("0.2ms", 0.0002),
        ("0s", 0.0),
        ("1d", 86400),
    ],
)
def test_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("value", ["5", 5, "5 s", "-5 s", "-", "s", "", "5S", None, True, "5s later"])
def test_what_is_no_duration_says_how_to_write_one(value):
    with pytest.raises(PydanticCustomError, match=r"500ms, 10s or 5m"):
        parse_duration(value)


def test_a_negative_duration_is_one_that_is_negative():
    with pytest.raises(PydanticCustomError, match=r"is negative; write a duration of at least 0s"):
        parse_duration("-5s")


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (2, 2.0),
        ("2", 2.0),
        ("500m", 0.5),
        ("1Gi", 2.0**30),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1E", 1e18),
        (".5", 0.5),
    ],
)
def test_quantities(value, number):
    assert parse_quantity(value) == number


@pytest.mark.parametrize("value", ["-1", "1 Gi", "1GB", "", None, True, -1, "one"])
def test_what_is_no_quantity_is_refused(value):
    with pytest.raises(PydanticCustomError):
        parse_quantity(value)


def test_a_bare_fraction_is_refused_because_the_api_server_refuses_it():
    with pytest.raises(PydanticCustomError, match=r'in quotes \("0.5"\)'):
        parse_quantity(0.5)


def test_bandwidth_is_written_in_bits_and_held_in_bytes():
    assert parse_bits("100M") == 12.5e6
    assert format_bits(12.5e6) == "100M"


@given(st.integers(0, 10**9))
def test_durations_survive_writing(microseconds):
    assert parse_duration(format_duration(microseconds / 1e6)) == pytest.approx(microseconds / 1e6, rel=1e-12)


@given(st.integers(0, 10**15))
def test_quantities_survive_writing(thousandths):
    value = thousandths / 1000
    assert parse_quantity(format_quantity(value)) == pytest.approx(value, rel=1e-12)
    assert parse_bits(format_bits(value)) == pytest.approx(value, rel=1e-9)
