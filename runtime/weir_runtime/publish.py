"""Publishing a batch exactly once: into a temporary file, then under its number by an operation that
fails when the name exists."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from weir_placement.model.fragment import FragmentError

from weir_runtime.compiler import TIME
from weir_runtime.durable import beside, sync
from weir_runtime.faults import reach

Fence = Callable[[], None]
"""Raises Fenced unless this process may publish."""


class Fenced(RuntimeError):
    """The lease belongs to another epoch or holder: nothing may be published."""


FLOW_REMEDY = (
    "Bring the checkpoint back; or delete the query and apply it again, which begins all of its flows anew."
)
SINK_REMEDY = "To begin anew, empty the sink or give it another place; to go on, bring the checkpoint back."
UNNUMBERED = "none, by an earlier version"


class OtherNumbering(FragmentError):
    """The output has batches of another checkpoint, whose numbers mean other rows: one's batch 7 must not be
    taken for the other's."""

    def __init__(self, place: str, theirs: str, ours: str, remedy: str) -> None:
        super().__init__(
            f"{place}: has batches of another checkpoint (numbering {theirs or UNNUMBERED}, this one's is "
            f"{ours or UNNUMBERED}), which is gone or was another run's. Nothing was written. {remedy}"
        )


class OthersRows(FragmentError):
    """The output has rows of another query, which may be deleted: readers would take both for one."""

    def __init__(self, place: str, theirs: str, ours: str) -> None:
        super().__init__(
            f"{place}: has rows of query {theirs}, this is {ours}. Nothing was written. Give the query a "
            "place of its own, or move the rows of the other away."
        )


class OlderCheckpoint(FragmentError):
    """The output has batches that this checkpoint has not planned: it is an older copy of the one that wrote
    them. It would give their numbers to other rows, which would be dropped as replays."""

    def __init__(self, beyond: str, planned: int) -> None:
        super().__init__(
            f"{beyond} is there, but this checkpoint has planned batches up to {planned} only: it is an "
            "older copy, as of a backup, of the one that wrote there. Nothing was written. Bring the newest "
            "checkpoint back; or delete the query and make it again with another sink (with restoreFrom, "
            "from a snapshot)."
        )


class Sending(Protocol):
    """What a batch goes through on its way to a server; read by other threads.

    Attributes:
        allowance: [s] that it may take on top of what a batch may: by its size, or because it makes progress.
    """

    allowance: float


class BatchSink(ABC):
    """Takes batches in order; a batch may come again after a crash, with the same rows.

    Attributes:
        knows_cuts: whether it refuses a plan over rows of one that began at the same cut. Without that, one
            behind a cut whose checkpoint is empty may have lost it, so it must not say that it has not begun.
    """

    knows_cuts = False
    _sending: Sending | None = None  # of the last batch, where it may take its time

    def claim(self, numbering: str, fresh: bool) -> None:  # noqa: B027 - most sinks know nothing of numbers
        """Called with the lease held, before the first batch: what numbering the batches are of, and whether
        their checkpoint has none yet. Raises OtherNumbering when there are batches of another one, OthersRows
        when there are another query's."""

    def take_over(self, numbering: str, planned: int) -> None:
        """Claims it for a checkpoint whose last planned batch is `planned`; -1: none. A batch's offsets are
        on the disk before it is published, so nothing that is published lies behind them.

        Raises:
            OlderCheckpoint: something does.
            FragmentError: as `claim`.
        """
        self.claim(numbering, planned < 0)
        self.drop_unfinished()
        if beyond := self.beyond(planned):
            raise OlderCheckpoint(beyond, planned)

    def keep_plain_ids(self) -> None:  # noqa: B027 - most give rows no ids
        """Rows keep the ids that earlier versions gave them, which do not say whose they are."""

    def drop_unfinished(self) -> None:  # noqa: B027 - most have nothing that is half written
        """Removes what a process before has half written. Called when it is claimed."""

    def beyond(self, planned: int) -> str:
        """Which published batch has a number above `planned`, in words; "": none, as far as the sink knows
        numbers. Called when it is claimed."""
        return ""

    @abstractmethod
    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Publishes the batch after calling `fence`; the bytes written."""

    def allowance(self) -> float:
        """[s] that the last write may take on top of what a batch may. Called by other threads."""
        return self._sending.allowance if self._sending else 0.0

    def close(self) -> None:  # noqa: B027 - most have no clients
        """Nothing more is written, and no write is under way: what it has open is closed, without waiting for
        brokers."""


def put_once(final: Path, write: Callable[[Path], object], fence: Fence) -> tuple[int, bool]:
    """Publishes what `write` writes to the path that it is given as `final`: its bytes, and False when that
    name was there (a replay), which then stays as it is. The content is on the disk before its name is, so a
    loss of power leaves no name without content."""
    with beside(final) as temporary:
        reach("before-temporary")
        write(temporary)
        reach("after-temporary")
        size = temporary.stat().st_size
        sync(temporary)
        reach("before-publish")
        fence()
        is_new = _link(temporary, final)
    reach("after-publish")
    return size, is_new


def _link(temporary: Path, final: Path) -> bool:
    try:
        os.link(temporary, final)
    except FileExistsError:
        return False
    sync(final.parent)
    return True


def described(table: pa.Table, epoch: int, clock: int, numbering: str = "") -> dict[str, str]:
    """The metadata of a published batch: `epoch`, `rows`, `clock`, `bytes` (of the rows in memory), and
    with rows `min`, `max` [us]; and `numbering`, but in flows of format 0."""
    metadata: dict[str, object] = {"epoch": epoch, "rows": table.num_rows, "clock": clock}
    metadata["bytes"] = table.nbytes
    if numbering:
        metadata["numbering"] = numbering
    if table.num_rows:
        bounds = pc.min_max(table.column(TIME).cast(pa.int64()))
        metadata |= {"min": bounds["min"].as_py(), "max": bounds["max"].as_py()}
    return {key: str(value) for key, value in metadata.items()}


def newest(description: Mapping[str, str]) -> int:
    """[us] The latest event time of a batch by its metadata: of its rows, or its clock."""
    return max(int(description["clock"]), int(description.get("max", 0)))


def user_rows(table: pa.Table, columns: list[tuple[str, str]]) -> pa.Table:
    """What the user sees of a batch: no hidden columns."""
    return pa.table([table.column(old) for old, _ in columns], names=[new for _, new in columns])
