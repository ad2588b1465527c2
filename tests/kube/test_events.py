"""The note of an Event, which the API server bounds in bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from weir_operator.controller.decision import Event
from weir_operator.kube.events import build_event_spec


@given(st.sampled_from(["x", "é ", "名前, ", "𝄞", "word "]), st.integers(0, 2000))
def test_a_note_has_at_most_the_bytes_that_it_may_have(piece: str, times: int) -> None:
    message = piece * times
    note = build_event_spec(Event("a/q", "Planned", message), None, "weir", 1.0)["note"]
    assert len(note.encode()) <= 1024
    assert note == message or "…" in note
