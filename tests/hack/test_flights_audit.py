"""The e2e audit notices every sort of wrong row: an audit that cannot fail would prove nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.e2e.flights import Message
from tests.e2e.reference import alternating, audit_messages, compare, delivered

GOOD = {"carrier": "UA", "start": "2013-01-01T00:00:00Z", "end": "2013-01-01 00:00:06+00:00"}
FIRST = Message("weir-row:01", GOOD | {"departures": 2, "mean_delay": 1.5})
SECOND = Message("weir-row:02", GOOD | {"departures": 3, "mean_delay": 0.1 + 0.2})
WANT = delivered("by-carrier", [FIRST, SECOND])


def test_the_same_row_id_twice_is_one_row() -> None:
    verdict = audit_messages("by-carrier", WANT, [FIRST, SECOND, FIRST])
    assert verdict.clean
    assert verdict.repeated == 1, "counted all the same"


def test_a_mean_may_differ_in_its_last_digits() -> None:
    close = Message(SECOND.headers, SECOND.value | {"mean_delay": 0.3})
    assert compare(WANT, delivered("by-carrier", [FIRST, close])).clean


def test_missing_doubled_and_wrong_rows_are_told_apart() -> None:
    again = Message("weir-row:03", FIRST.value)
    other = Message("weir-row:04", FIRST.value | {"departures": 9})
    verdict = compare(WANT, delivered("by-carrier", [FIRST, again, other]))
    assert (verdict.rows, verdict.missing, verdict.doubled, verdict.wrong) == (2, 1, 1, 1)
    assert not verdict.clean


def test_one_id_with_two_rows_is_an_error() -> None:
    with pytest.raises(AssertionError, match="weir-row:01"):
        delivered("by-carrier", [FIRST, Message(FIRST.headers, SECOND.value)])


def test_rows_without_an_id_all_count() -> None:
    nameless = Message("NO_HEADERS", FIRST.value)
    assert delivered("by-carrier", [nameless, nameless]) == Counter(
        {next(iter(delivered("by-carrier", [FIRST]))): 2}
    )


def test_rows_are_those_of_the_query_that_was_asked_for_at_their_time() -> None:
    """Windows that end at 6, 12, ... 36 s, of a query that was edited at 12 s and back at 24 s."""
    plain = Counter({("UA", end - 6, end, 9): 1 for end in range(6, 42, 6)})
    edited = Counter({("UA", end - 6, end, 4): 1 for end in range(6, 42, 6)})
    rows = alternating(plain, edited, [12, 24])
    assert {row[2]: row[3] for row in rows} == {6: 9, 12: 9, 18: 4, 24: 4, 30: 9, 36: 9}
    assert alternating(plain, edited, []) == plain
    assert alternating(plain, edited, [12]).total() == 6
    with pytest.raises(AssertionError, match="changes no row"):
        alternating(plain, plain, [12, 24])
