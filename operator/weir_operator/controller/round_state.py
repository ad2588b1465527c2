"""What one round of the loop collects on its way from the observed state to a decision."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from weir_placement.model.fragment import FragmentSpec

from weir_operator.controller.decision import Event
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.moves import FragmentStep
from weir_operator.controller.observed_state import ObservedState, Process
from weir_operator.controller.record import Record
from weir_operator.controller.refusal_memory import RefusalMemory
from weir_operator.controller.settings import Settings

log = logging.getLogger("weir.decide")


@dataclass
class RoundState:
    """What one round collects."""

    observed: ObservedState
    desired: DesiredState
    settings: Settings
    records: dict[str, Record]
    processes: dict[str, list[Process]]
    before: dict[str, Record] = field(default_factory=dict)  # as the Placements say
    specs: dict[str, tuple[FragmentSpec, ...]] = field(default_factory=dict)  # by query
    cuts: dict[str, tuple[Record, tuple[FragmentSpec, ...]]] = field(
        default_factory=dict
    )  # by query: the record that they were cut from, and its fragments
    steps: dict[str, FragmentStep] = field(default_factory=dict)  # by fragment
    builds: dict[str, str] = field(default_factory=dict)  # by fragment, what its processes are to be
    images: dict[str, str] = field(default_factory=dict)  # by group
    held_images: set[str] = field(default_factory=set)  # queries that keep the image that they run
    refused_images: dict[str, str] = field(default_factory=dict)  # by group, why it does not run its policy's
    events: list[Event] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)  # query -> why it has no new plan
    failed: set[str] = field(default_factory=set)  # those of `refusals` caused by an error, not a constraint
    memory: RefusalMemory = field(default_factory=RefusalMemory)
    overdue: dict[str, float] = field(default_factory=dict)  # fragments whose move is, and its deadline [s]
    revoked: set[str] = field(default_factory=set)  # whose plan in force reads a stream not shared any more
    blocked: dict[str, str] = field(
        default_factory=dict
    )  # queries whose plan in force has no room in a quota
    ended: dict[str, str] = field(default_factory=dict)
    """Queries edited after their end -> why the edit is refused; "": it is run anew."""
    paused: str = ""  # why nothing moves in this round
    last_snapshots: dict[str, str] = field(default_factory=dict)  # by query, as its status says
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)  # by query: headroom, latency, binding

    @contextmanager
    def guard(self, query: str) -> Iterator[None]:
        """An error within, of any kind, affects this query alone: it stays as it is, other queries go on."""
        try:
            yield
        except Exception as error:
            self.fail(query, error)

    def fail(self, query: str, error: Exception) -> None:
        """The round ended with an error for a query: its plan in force stays, the status says why."""
        if query in self.failed:
            return
        text = f"planning failed: {described(error)}"
        log.error("%s: %s", query, text, exc_info=error)
        self.refusals[query] = text
        self.failed.add(query)
        self.events.append(Event(query, "PlanningFailed", text, warning=True))


def specs_of(state: RoundState, query: str) -> tuple[FragmentSpec, ...]:
    """The fragments of a query's plan in force; none when it is not to run."""
    return state.specs.get(query, ())


def described(error: Exception) -> str:
    """The message of an error of ours; any other with its type, because its message alone says too little."""
    return str(error) if type(error) is ValueError and str(error) else repr(error)
