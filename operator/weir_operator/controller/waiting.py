"""What fragments wait for: servers, a reader of their output, rows of a source, a partition."""

from __future__ import annotations

from collections.abc import Iterator

from weir_placement.model.amounts import count

from weir_operator.controller.conditions import Wait
from weir_operator.controller.observed_state import FragmentMetrics
from weir_operator.controller.round_state import RoundState, specs_of

SILENCE = 900.0
"""[s] without a row of a source, after which that is said: as the chart's `silentSeconds`."""


def waits(reading: FragmentMetrics) -> Iterator[Wait]:
    """What a fragment waits for, the gravest first; the words stay the same while it does."""
    if reading.unreachable:
        text = f"{reading.fragment} waits for brokers or an object store that do not answer"
        yield Wait("Unreachable", text, warning=True)
    if reading.held_back:
        text = f"{reading.fragment} has paused until the slowest reader of its output catches up"
        yield Wait("HeldBack", text, warning=True)
    for name, number in sorted(reading.missing.items()):
        text = f"{reading.fragment}: file {number:010d} of {name} is missing, and later ones are there"
        yield Wait("FileMissing", text, warning=True)
    silent = sorted(name for name, seconds in reading.silent.items() if seconds > SILENCE)
    if silent:
        text = (
            f"{reading.fragment} has had no row from {', '.join(silent)} for more than {SILENCE / 60:.0f} min"
        )
        yield Wait("SourceSilent", text, warning=True)
    if reading.idle_partitions:
        partitions = count(reading.idle_partitions, "idle partition")
        text = f"{reading.fragment}: the event-time clock does not wait for {partitions}"
        yield Wait("PartitionIdle", text)


def wait_of(state: RoundState, query: str) -> Wait | None:
    """All that the fragments of a query wait for, by the gravest reason; None without any."""
    readings = [state.observed.metrics.get(spec.name) for spec in specs_of(state, query)]
    all_waits = [wait for reading in readings if reading for wait in waits(reading)]
    order = ("Unreachable", "HeldBack", "FileMissing", "SourceSilent", "PartitionIdle")
    all_waits.sort(key=lambda wait: order.index(wait.reason))
    return Wait(all_waits[0].reason, "; ".join(wait.message for wait in all_waits)) if all_waits else None
