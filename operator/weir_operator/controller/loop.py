"""observe -> plan -> apply -> report. Kill it at any line and start it again: it ends in the same place."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from weir_operator.controller.decide import decide
from weir_operator.controller.decision import Action, Decision, Event, Start
from weir_operator.controller.ports import Clock, ClusterPort, ExchangePort, MetricsPort, Refused
from weir_operator.controller.settings import Settings
from weir_operator.controller.snapshot import FragmentMetrics, Snapshot
from weir_operator.controller.world import World

T = TypeVar("T")
log = logging.getLogger("weir.loop")

WINDOW = 10.0
"""[s] Measurements are differences over at least so long."""
WARM = 3
"""Batches of a process that are not measured: they compile and fork more than they compute."""


@dataclass
class Loop:
    """The one loop over three ports. What it remembers (past readings) it can do without."""

    cluster: ClusterPort
    metrics: MetricsPort
    exchange: ExchangePort
    understand: Callable[[Snapshot, Settings], World]
    settings: Settings
    clock: Clock
    readings: deque[Mapping[str, FragmentMetrics]] = field(default_factory=lambda: deque(maxlen=120))
    last: Decision = field(default_factory=Decision)
    refusals: dict[str, str] = field(default_factory=dict)  # fragment -> why it could not be started last
    snapshot: Snapshot | None = None
    pool: ThreadPoolExecutor | None = None  # writes about different fragments and objects at the same time

    def once(self) -> Decision:
        """One round. What fails to be applied is logged and comes up again at the next round."""
        seen = self.cluster.observe()
        reading = self.metrics.read(seen.processes)
        now = self.clock()
        self.snapshot = Snapshot(
            now=now,
            objects=seen.objects,
            processes=seen.processes,
            leases=seen.leases,
            metrics=reading,
            previous_metrics=self._earlier(now),
            foreign=seen.foreign,
            protected=seen.protected,
            budget_since=seen.budget_since,
        )
        self.readings.append(reading)
        self.last = decide(self.snapshot, self.understand(self.snapshot, self.settings), self.settings)
        self._apply(self.last)
        return self.last

    def round(self) -> float:
        """As `once`; returns after how many seconds at most it wants to look again."""
        return self.once().wake_after

    def _earlier(self, now: float) -> Mapping[str, FragmentMetrics]:
        """By fragment, the newest reading that is at least WINDOW old."""
        found: dict[str, FragmentMetrics] = {}
        for reading in self.readings:
            for name, metrics in reading.items():
                if metrics.at <= now - WINDOW and metrics.batches >= WARM:
                    found[name] = metrics
        return found

    def _tell(self, start: Start, error: str) -> None:
        """Once for each reason why a fragment cannot be started."""
        fragment = start.spec.name
        if self.refusals.get(fragment) != error:
            self.refusals[fragment] = error
            text = f"{fragment} cannot be started: {error}"
            self.cluster.emit(Event(start.query, "StartRefused", text, warning=True))

    def _apply(self, decision: Decision) -> None:
        """Intents before actions: a crash between them leaves an intent that the next round carries out."""
        self._each(self.cluster.write_placement, decision.placements)
        by_fragment: dict[str, list[Action]] = {}
        for action in decision.actions:
            name = action.spec.name if isinstance(action, Start) else action.fragment
            by_fragment.setdefault(name, []).append(action)
        self._each(self._carry_out, by_fragment.values())
        if decision.keep is not None:
            self.exchange.sweep(decision.keep)
        self._each(self.cluster.write_status, decision.statuses)
        self._each(self.cluster.emit, decision.events)

    def _carry_out(self, actions: list[Action]) -> None:
        """The actions of one fragment, in order."""
        for action in actions:
            try:
                self.cluster.apply(action)
            except OSError as error:
                log.warning("%s: %s; tried again in the next round", type(action).__name__, error)
                if isinstance(action, Start) and isinstance(error, Refused):
                    self._tell(action, str(error))

    def _each(self, write: Callable[[T], None], items: Iterable[T]) -> None:
        """All of them, in any order; the first error is raised when every one was tried or done."""
        if self.pool is None:
            for item in items:
                write(item)
        else:
            list(self.pool.map(write, items))
