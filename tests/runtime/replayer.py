"""A log that grows while a fragment reads it, and the count that is kept of it."""

from __future__ import annotations

import threading
from pathlib import Path

from weir_placement.model.operators import Aggregate, Aggregation, Item

from tests.runtime.support import append_batch

COLUMNS = ["window.start", "k", "n"]
COUNT = Aggregate(
    "g",
    ("a",),
    items=(Item("k", "a.k"),),
    time="a.ts",
    window=1.0,
    slide=1.0,
    aggregations=(Aggregation("n", "count", None),),
)


def rows(number: int) -> list[tuple[int, int, int]]:
    """Two seconds of event time."""
    return [(i % 3, i, number * 2_000_000 + i * 100_000) for i in range(1, 21)]


class Replayer(threading.Thread):
    """Appends a batch every so many seconds until it is told to finish."""

    def __init__(self, log: Path, every: float = 0.1) -> None:
        super().__init__(daemon=True)
        self.log = log
        self.every = every
        self.number = 0
        self.finish = threading.Event()

    def run(self) -> None:
        """Writes the end when finished."""
        while not self.finish.wait(self.every):
            append_batch(self.log, self.number, rows(self.number))
            self.number += 1
        (self.log / "END").touch()
