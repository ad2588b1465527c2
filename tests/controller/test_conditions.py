"""Conditions as kstatus reads them, and when a status is worth a write."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from weir_operator.controller.conditions import Health, conditions, worth_writing
from weir_operator.controller.record import Record
from weir_operator.controller.repeats import without_repeats

READY = Health.current("Running", "2 fragments running on 2 nodes")
STALLED = Health.failed("Rejected", "memory of node n1")


def test_a_transition_time_stays_while_the_status_stays() -> None:
    first = conditions(READY, 1, 1000.0, [])
    second = conditions(READY, 2, 2000.0, first)
    assert [c["lastTransitionTime"] for c in first] == [c["lastTransitionTime"] for c in second]
    assert {c["observedGeneration"] for c in second} == {2}
    third = conditions(STALLED, 2, 3000.0, second)
    changed = {
        c["type"]
        for c, old in zip(third, second, strict=True)
        if c["lastTransitionTime"] != old["lastTransitionTime"]
    }
    assert changed == {"Ready", "Stalled"}


def test_the_reason_is_on_ready_and_on_whatever_holds() -> None:
    by_type = {c["type"]: c for c in conditions(STALLED, 1, 0.0, [])}
    assert by_type["Ready"]["message"] == by_type["Stalled"]["message"] == "memory of node n1"
    assert by_type["Reconciling"]["message"] == ""


def test_a_number_is_written_when_it_moved_by_a_tenth_and_only_when_numbers_are_due() -> None:
    assert not worth_writing({"headroom": 2.0}, {"headroom": 2.1})
    assert worth_writing({"headroom": 2.0}, {"headroom": 2.3})
    assert not worth_writing({"headroom": 2.0}, {"headroom": 9.0}, numbers=False)
    assert worth_writing({"fragments": 2}, {"fragments": 3}, numbers=False)
    assert worth_writing({}, {"headroom": 2.0}, numbers=False)


leaves = st.one_of(
    st.text(max_size=3), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)
trees = st.dictionaries(
    st.text(max_size=2), st.recursive(leaves, lambda t: st.lists(t, max_size=3), max_leaves=6), max_size=4
)


@given(trees)
def test_the_same_status_is_never_written_again(status: dict[str, Any]) -> None:
    assert not worth_writing(status, status)


def test_the_same_decision_is_one_line_however_long_it_is() -> None:
    for text, stays in (("stay", False), ("x" * 600, True)):
        record = Record("d/q")
        for second in range(2000):
            record = record.with_decision(float(second), text, stays)
        (line,) = record.status["decisions"]
        assert line.startswith("1970-01-01T00:33:19Z stay")
        assert line.endswith(" (2000 times since 1970-01-01T00:00:00Z)")
        assert len(line) <= 512
        assert len(record.with_decision(3.0, "move").status["decisions"]) == 2


def test_reasons_to_stay_that_alternate_are_two_lines_until_something_moves() -> None:
    record = Record("d/q")
    for second in range(20):
        record = record.with_decision(float(second), "a" if second % 2 else "b", stays=True)
    record = record.with_decision(20.0, "move f to n2").with_decision(21.0, "a", stays=True)
    assert record.status["decisions"] == [
        "1970-01-01T00:00:21Z stay: a",
        "1970-01-01T00:00:20Z move f to n2",
        "1970-01-01T00:00:19Z stay: a (10 times since 1970-01-01T00:00:01Z)",
        "1970-01-01T00:00:18Z stay: b (10 times since 1970-01-01T00:00:00Z)",
    ]


def test_a_repeated_decision_is_not_written_every_round() -> None:
    once = Record("d/q").with_decision(1.0, "b", True).with_decision(2.0, "a", True).status
    again = Record("d/q", status=once).with_decision(3.0, "b", True).status
    other = Record("d/q", status=once).with_decision(3.0, "c", True).status
    assert worth_writing(once, again)
    assert not worth_writing(without_repeats(once), without_repeats(again))
    assert worth_writing(without_repeats(once), without_repeats(other))
