"""The part of a delivered stream that one plan publishes (docs/runtime.md, "Change of operators").

Rows belong to a plan by their event time: after the cut at which it began, up to the cut at which it ends.
The latter is agreed once and kept in the lease, before the first batch that it could touch is published.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from weir_placement.model.change import Change

from weir_runtime.checkpoint import Checkpoint
from weir_runtime.compiler import TIME
from weir_runtime.faults import reach
from weir_runtime.lease import FragmentLease
from weir_runtime.names import PLAUSIBLE, write_whole

SPAN = 30.0
"""[s] over which the pace of event time is measured."""

PATIENCE = 10.0
"""[s] for which a batch waits to learn whether its plan ends before some of its rows."""


class Share:
    """Which rows of the sink are this plan's.

    Args:
        after: [us] the cut at which this plan began; 0: it began with the query.
        folder: the checkpoint's: the newest event time that may ever have been published is kept there,
            written before the rows are, so that no later life of the fragment agrees to a cut below it.
        clock: [us] of the last batch that earlier lives have committed; 0: they have committed none.
        has_begun: whether they have planned one: without it nothing was published.
    """

    def __init__(self, after: int, folder: Path, clock: int = 0, has_begun: bool = True) -> None:
        self._after = after
        self._has_begun = has_begun
        self._file = folder.with_name(f"{folder.name}.newest")
        self._newest = self._noted = int(self._file.read_text()) if self._file.exists() else 0
        self._under_way = False  # a batch is between its filter and the end of its publish
        self._lock = threading.Condition()
        self._change: Change | None = None
        self._unsure = False  # a cut was agreed to, and whether that was written is not known
        self._clock = clock
        self._clocks: deque[tuple[float, int]] = deque()

    @staticmethod
    def of(after: int, checkpoint: Checkpoint, clock: Callable[[int], int]) -> Share:
        """Of a plan with what is in its checkpoint; `clock` [us] of a watermark [ms]."""
        last = checkpoint.committed()
        passed = clock(checkpoint.watermark_ms(last)) if last >= 0 else 0
        return Share(after, checkpoint.folder, passed, checkpoint.planned() >= 0)

    def restrict(self, table: pa.Table) -> pa.Table:
        """The rows that this plan publishes, called before each publish. Raises RuntimeError when it cannot
        be learnt which: the batch runs again in the fragment's next life."""
        with self._lock:
            if not self._lock.wait_for(lambda: not self._unsure, PATIENCE):
                raise RuntimeError(f"the lease has not confirmed the cut of a change for {PATIENCE:.0f} s")
            self._has_begun = self._under_way = True
            times = table.column(TIME).cast(pa.int64())
            mine = pc.greater(times, self._after) if self._after else None
            if self._change and self._change.time is not None:
                until = pc.less_equal(times, self._change.time)
                mine = until if mine is None else pc.and_(mine, until)
            if mine is not None and not pc.all(mine).as_py():  # what is filtered is in memory
                table, times = table.filter(mine), times.filter(mine)
            self._newest = max(self._newest, pc.max(times).as_py() or 0)
            return table

    def note(self) -> None:
        """Called when all that is left of a batch is to be published: from here on its rows may be. What
        cannot be written at all moves no cut of a later life."""
        if self._newest > self._noted:
            write_whole(self._file, str(self._newest))
            self._noted = self._newest

    def published(self, clock: int) -> None:
        """A batch is published, and no later one has a row at or before `clock` [us]."""
        now = time.monotonic()
        self._under_way = False
        self._clocks.append((now, clock))
        while now - self._clocks[0][0] > SPAN:
            self._clocks.popleft()
        self._clock = clock

    def look(self, lease: FragmentLease, epoch: int, holder: str) -> bool:
        """Answers what the lease asks: agrees to a cut, and says when it has passed. False: it could not be
        read; nothing may be published before it was."""
        try:
            record = lease.read()
        except OSError:
            return False
        change = record.change if record else None
        if change is None:
            return record is not None and not self._unsure
        if change.time is None:
            with self._lock:
                if self._under_way:  # it may come to nothing, and no later life would publish its rows
                    return False
                agreed = self._agreed(change)
                reach("before-agree")
                self._unsure = True  # an answer that failed may have been written all the same
                if not lease.answer(epoch, holder, agreed):
                    return False
                self._settle(agreed)
                change = agreed
            reach("after-agree")
        else:
            with self._lock:
                self._settle(change)
        assert change.time is not None
        if max(self._clock, self._after) >= change.time and not change.passed:
            lease.answer(epoch, holder, dataclasses.replace(change, passed=True))
            reach("after-pass")
        return True

    def _settle(self, change: Change) -> None:
        """With the lock."""
        self._change, self._unsure = change, False
        self._lock.notify_all()

    def _agreed(self, change: Change) -> Change:
        """A plan that has not begun ends where it was to begin, whatever keeps it from its first batch."""
        if not self._has_begun:
            return dataclasses.replace(change, time=self._after, passed=True)
        return dataclasses.replace(change, time=self._cut(change.lead))

    def _cut(self, lead: float) -> int:
        """Nothing later was published, and nothing up to it is left to the plan before."""
        base = max(self._newest, self._clock, self._after)
        if not self._clocks:
            return base
        (then, first), (now, last) = self._clocks[0], self._clocks[-1]
        if now - then < 1.0 or not 0 < first < last < PLAUSIBLE:
            return base
        return base + round(lead * (last - first) / (now - then))
