"""The writes of one round, and what of them failed: for the conditions and events of the next one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from weir_operator.controller.decision import (
    Action,
    DeletePlacement,
    Event,
    Start,
    WritePlacement,
    WriteStatus,
)
from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.ports import ClusterPort, Gone, Refused, Unreachable
from weir_operator.controller.raw_fields import part
from weir_operator.controller.record import Record, name_of

ROUNDS = 3
"""In so many rounds in a row a write must fail that is not refused (a conflict) before it is said: whoever
wrote at the same time is done in the next round."""

ON_THE_WAY = ("Start", "HandOver", "RestoreLease", "RestoreState")
"""Actions without which a fragment gets no further."""


@dataclass
class FailedWrites:
    """What one round could not write."""

    intents: dict[str, tuple[str, int]] = field(default_factory=dict)  # query -> why, rounds in a row
    actions: dict[tuple[str, str], str] = field(default_factory=dict)  # fragment, kind of action -> why
    statuses: dict[str, str] = field(default_factory=dict)  # query -> why

    def unwritten(self) -> dict[str, str]:
        """By query: why its Placement cannot be written, where that does not pass by itself."""
        return {query: why for query, (why, rounds) in self.intents.items() if rounds >= ROUNDS}

    def refusals(self) -> dict[str, str]:
        """By fragment: why a process could not be started, or the fragment not handed over to it."""
        return {fragment: why for (fragment, kind), why in self.actions.items() if kind in ON_THE_WAY}


class Writes:
    """Writes of one round; each raises what the cluster raises.

    Args:
        before: what the round before could not write.
        objects: as observed; Placements say whose a fragment is.

    Attributes:
        failed: what this round could not write.
        events: one for each refusal that the round before did not have.
    """

    def __init__(self, cluster: ClusterPort, before: FailedWrites, objects: Iterable[Manifest]) -> None:
        self.failed = FailedWrites()
        self.events: list[Event] = []
        self._cluster = cluster
        self._before = before
        self._objects = objects

    def placement(self, placement: WritePlacement | DeletePlacement) -> None:
        """An intent. Why it cannot be written becomes a condition of its query."""
        try:
            self._cluster.write_placement(placement)
        except (Unreachable, Gone):
            raise
        except Exception as error:  # whatever it is: a person must know why nothing happens
            _, rounds = self._before.intents.get(placement.query, ("", 0))
            rounds = ROUNDS if isinstance(error, Refused) else rounds + 1
            self.failed.intents[placement.query] = (str(error) or repr(error), rounds)
            raise

    def action(self, action: Action) -> None:
        """Why a fragment could not be started, or anything else about it was refused, is in its query's
        condition while the fragment is not ready; where a person must act it is an event."""
        try:
            self._cluster.apply(action)
        except (Unreachable, Gone):
            raise
        except OSError as error:
            fragment, kind = fragment_of(action), type(action).__name__
            refused = isinstance(error, Refused)
            if refused or isinstance(action, Start):
                self.failed.actions[fragment, kind] = str(error)
            if refused and self._before.actions.get((fragment, kind)) != str(error):
                query = getattr(action, "query", "") or owner_of(fragment, self._objects)
                if isinstance(action, Start):
                    text = f"{fragment} cannot be started: {error}"
                    self.events.append(Event(query, "StartRefused", text, warning=True))
                elif query:
                    text = f"{kind} of {fragment}: {error}"
                    self.events.append(Event(query, "WriteRefused", text, warning=True))
            raise

    def status(self, status: WriteStatus) -> None:
        """A condition cannot say that it was refused, so an event does."""
        try:
            self._cluster.write_status(status)
        except Refused as error:
            query = f"{status.namespace}/{status.name}"
            if status.kind == "StreamQuery":
                self.failed.statuses[query] = str(error)
                if self._before.statuses.get(query) != str(error):
                    self.events.append(Event(query, "WriteRefused", f"its status: {error}", warning=True))
            raise


def fragment_of(action: Action) -> str:
    """The fragment that an action is about."""
    return action.spec.name if isinstance(action, Start) else action.fragment


def owner_of(fragment: str, objects: Iterable[Manifest]) -> str:
    """The query that owns a fragment, as the Placements say; "" for none."""
    for manifest in objects:
        if manifest.get("kind") == "Placement":
            name = name_of(manifest)
            if fragment in Record(name, status=part(manifest, "status")).owned:
                return name
    return ""
