"""observe -> plan -> apply -> report. Kill it at any line and start it again: it ends in the same place."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from weir_operator.controller.clock_watch import ClockWatch
from weir_operator.controller.counts import Counts
from weir_operator.controller.decide import decide
from weir_operator.controller.decision import (
    Action,
    Decision,
    DeletePlacement,
    Event,
    HandOver,
    WritePlacement,
)
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.observed_state import FragmentMetrics, ObservedState, Process
from weir_operator.controller.ports import (
    Clock,
    ClusterPort,
    ExchangePort,
    Gone,
    MetricsPort,
    Unreachable,
)
from weir_operator.controller.refusal_memory import RefusalMemory
from weir_operator.controller.settings import Settings
from weir_operator.controller.writes import FailedWrites, Writes, fragment_of

Order = TypeVar("Order")
log = logging.getLogger("weir.loop")
Readings = Mapping[str, FragmentMetrics]

WINDOW = 10.0
"""[s] Measurements are differences over at least so long."""
STEP = 1.0
"""[s] Readings that follow the last one sooner are not kept."""
IN_FORCE = ("Planned", "RolledBack")
"""Reasons of events about a plan that came into force."""
WARM = 3
"""First batches of a process that are not measured: they mostly compile and fork."""


@dataclass
class Loop:
    """The one loop over three ports. It can do without its memory (past readings)."""

    cluster: ClusterPort
    metrics: MetricsPort
    exchange: ExchangePort
    desired_state: Callable[[ObservedState, Settings], DesiredState]
    settings: Settings
    clock: Clock
    readings: dict[str, deque[FragmentMetrics]] = field(default_factory=dict)  # of each fragment, by time
    memory: RefusalMemory = field(default_factory=RefusalMemory)
    last: Decision = field(default_factory=Decision)
    failed: FailedWrites = field(default_factory=FailedWrites)  # of the last round
    observed: ObservedState | None = None
    clock_watch: ClockWatch | None = None  # None: nobody sets the clock
    pool: ThreadPoolExecutor | None = None  # writes about different fragments and objects at the same time
    leads: Callable[[], bool] = lambda: True  # false: another replica acts, so nothing more is written
    moves: Counts[str] = field(default_factory=Counts)  # by fragment: hand-overs to another process
    replans: Counts[str] = field(default_factory=Counts)  # by query: plans that came into force
    laps: Mapping[str, float] = field(default_factory=dict)  # duration of each part of the last round [s]

    def once(self) -> Decision:
        """One round. A write that fails is logged and tried again in the next round.

        Raises OSError: the cluster could not be observed, or no longer answered.
        """
        laps = Laps()
        observed = self.cluster.observe()
        laps.end("observe")
        reading = self.metrics.read(observed.processes)
        laps.end("measure")
        now = self.clock()
        clock_set = self.clock_watch.set_at(now) if self.clock_watch else 0.0
        if clock_set == now:
            self.readings.clear()  # rates over it would be of no time that passed
        self.observed = ObservedState(
            now=now,
            clock_set=clock_set,
            objects=observed.objects,
            processes=observed.processes,
            leases=observed.leases,
            metrics=reading,
            previous_metrics=self._earlier(observed.processes, reading),
            foreign=observed.foreign,
            protected=observed.protected,
            budget_since=observed.budget_since,
            quota_usage=observed.quota_usage,
            snapshots=observed.snapshots,
            snapshot_jobs=observed.snapshot_jobs,
            restored=observed.restored,
            refusals=self.failed.refusals(),
            unwritten=self.failed.unwritten(),
        )
        published = frozenset(self.last.events)
        desired = self.desired_state(self.observed, self.settings)
        laps.end("desired state")
        paused = self.last.paused
        self.last = decide(self.observed, desired, self.settings, self.memory)
        if self.last.paused != paused:
            log.warning("%s", self.last.paused or f"moves resume; until now, {paused}")
        laps.end("decide")
        self._apply(self.last, published)
        laps.end("apply")
        self.laps = laps.seconds
        return self.last

    def round(self) -> float:
        """As `once`; returns after how many seconds at most the next round is due."""
        return self.once().wake_after

    def _earlier(self, processes: Iterable[Process], reading: Readings) -> Readings:
        """By fragment, the newest reading of the same process that is WINDOW older than this one, however
        rarely it is measured. Readings that no later round needs are dropped."""
        for name in self.readings.keys() - {process.fragment for process in processes}:
            del self.readings[name]
        earlier: dict[str, FragmentMetrics] = {}
        for name, now in reading.items():
            past = self.readings.setdefault(name, deque())
            if past and (past[-1].epoch != now.epoch or past[-1].batches > now.batches):
                past.clear()
            while len(past) > 1 and past[1].at <= now.at - WINDOW:
                past.popleft()
            if past and past[0].at <= now.at - WINDOW:
                earlier[name] = past[0]
            if now.batches >= WARM and (not past or now.at >= past[-1].at + STEP):
                past.append(now)
        return earlier

    def _apply(self, decision: Decision, published: frozenset[Event]) -> None:
        """Intents before actions: a crash between them leaves an intent that the next round carries out.

        A query whose intent could not be written is left alone in this round; the others go on. Events that
        the previous round published are not published again.
        """
        news = [event for event in decision.events if event not in published]
        writes = Writes(self.cluster, self.failed, self.observed.objects if self.observed else ())
        unwritten = _Unwritten(self._write_each(writes.placement, decision.placements))
        by_fragment: dict[str, list[Action]] = {}
        for action in decision.actions:
            if not unwritten.touches(action):
                by_fragment.setdefault(fragment_of(action), []).append(action)
        self._write_each(partial(self._apply_in_order, writes), by_fragment.values())
        if decision.keep is not None:
            self.exchange.sweep(decision.keep)
        self._write_each(self.cluster.order, decision.snapshots)
        self._write_each(writes.status, decision.statuses)
        self._write_each(self._publish, [*news, *writes.events])
        self.failed = writes.failed

    def _publish(self, event: Event) -> None:
        if event.reason in IN_FORCE:
            self.replans.add(event.query)
        self.cluster.emit(event)

    def _apply_in_order(self, writes: Writes, actions: list[Action]) -> None:
        """The actions of one fragment, in order."""
        for action in actions:
            if self._attempt(writes.action, action) and isinstance(action, HandOver):
                self.moves.add(action.fragment)

    def _write_each(self, write: Callable[[Order], None], items: Iterable[Order]) -> list[Order]:
        """Writes all of them, in any order; returns those that could not be written, which the next round
        decides on again."""
        items = list(items)
        attempts = (self.pool.map if self.pool else map)(lambda item: self._attempt(write, item), items)
        return [item for item, succeeded in zip(items, attempts, strict=True) if not succeeded]

    def _attempt(self, write: Callable[[Order], None], item: Order) -> bool:
        if not self.leads():
            raise Unreachable("this replica no longer leads")
        try:
            write(item)
        except Unreachable:
            raise
        except Gone as error:
            log.debug("%s for %s: %s", type(item).__name__, _subject(item), error)
            return False
        except OSError as error:
            log.warning(
                "%s for %s failed: %s; it will be retried", type(item).__name__, _subject(item), error
            )
            return False
        except Exception:  # whatever it is: the other writes are done
            log.exception("%s for %s failed; it will be retried", type(item).__name__, _subject(item))
            return False
        return True


class Laps:
    """How long the parts of a round take."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self.seconds: dict[str, float] = {}

    def end(self, part: str) -> None:
        """The end of a part, and the start of the next one."""
        now = time.monotonic()
        self.seconds[part], self._start = now - self._start, now


class _Unwritten:
    """The queries whose intents could not be written, and their fragments."""

    def __init__(self, unwritten: Iterable[WritePlacement | DeletePlacement]) -> None:
        self._queries: set[str] = set()
        self._fragments: set[str] = set()
        for placement in unwritten:
            if isinstance(placement, WritePlacement) and not placement.awaited:
                continue
            self._queries.add(placement.query)
            if isinstance(placement, WritePlacement):
                self._fragments |= {fragment["name"] for fragment in placement.spec["fragments"]}
                self._fragments |= set(placement.status.get("owned") or ())

    def touches(self, action: Action) -> bool:
        """Whether an action is about one of them."""
        return fragment_of(action) in self._fragments or getattr(action, "query", None) in self._queries


def _subject(item: object) -> str:
    """The query, fragment or object of a write."""
    fields = ("query", "fragment", "snapshot", "name")
    return str(next((v for f in fields if (v := getattr(item, f, ""))), ""))
