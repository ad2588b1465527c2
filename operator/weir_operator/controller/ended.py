"""Edits of queries whose inputs have ended, so that all of their rows are written.

Nobody is left who could agree to a cut. Where the edited query writes to another place it is run anew over
all rows; over the rows that are there it is refused, because theirs and its own would stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weir_placement.model.fragment import Output

from weir_operator.controller.round_state import RoundState

PLACES = {"files": "another folder or URI", "kafka": "another topic"}


def edited_after_the_end(state: RoundState) -> Iterator[tuple[str, str]]:
    """(query, why its edit is refused) of each that was edited after its end; "": it is run anew."""
    for group in state.desired.groups:
        for name, desired in group.queries.items():
            record = state.records[name]
            edited = record.source != desired.source and not (desired.suspended or desired.unplannable)
            if not edited or record.leaving or not record.specs:
                continue
            last = record.specs[-1]
            if all(process.state != "finished" for process in state.processes.get(last.name, ())):
                continue
            same = last.output.kind in PLACES and _place(last.output) == _place(desired.ends.sink)
            yield name, _refusal(last.output.kind, record.revision) if same else ""


def _refusal(kind: str, revision: int) -> str:
    return (
        f"edited after its inputs had ended: the rows in its sink stay those of revision {revision}. "
        f"To run it anew over all rows, give spec.sink.{kind} {PLACES[kind]}; or undo the edit"
    )


def _place(output: Output) -> tuple[Any, ...]:
    """Where rows lie together."""
    options = output.options
    return output.kind, output.uri, options.get("bootstrapServers"), options.get("topic")
