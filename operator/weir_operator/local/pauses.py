"""How long a fragment's output paused during a move, from the commits of its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

from weir_operator.controller.observed_state import Process


@dataclass(frozen=True)
class Pause:
    """`gap`: from the last commit of the old process to the first of the new one; `normal`: between two
    commits otherwise (median); all in seconds."""

    fragment: str
    epoch: int
    warm: bool
    source: str
    target: str
    gap: float
    normal: float

    @property
    def pause(self) -> float:
        """The part of the gap that the move itself caused [s]."""
        return max(0.0, self.gap - self.normal)


@dataclass
class Pauses:
    """Watches commits (Spark removes old ones) and processes; `finished` are completed moves."""

    root: Path
    commits: dict[str, dict[int, float]] = field(default_factory=dict)
    starts: dict[tuple[str, int], Process] = field(default_factory=dict)
    warm: dict[tuple[str, int], bool] = field(default_factory=dict)
    finished: dict[tuple[str, int], Pause] = field(default_factory=dict)

    def look(self, processes: tuple[Process, ...]) -> None:
        """To be called once a round."""
        for process in processes:
            key = (process.fragment, process.epoch)
            if process.state == "standby":
                self.warm[key] = True
            elif process.state == "running" and key not in self.starts:
                self.starts[key] = process
        for fragment in {p.fragment for p in processes}:
            epochs = self.commits.setdefault(fragment, {})
            for commit in self.root.glob(f"checkpoints/*/{fragment}/*/commits/[0-9]*"):
                if commit.name.isdigit() and int(commit.name) not in epochs:
                    epochs[int(commit.name)] = commit.stat().st_mtime
        for key in self.starts:
            if key[1] > 1 and key not in self.finished:
                self._measure(key)

    def _measure(self, key: tuple[str, int]) -> None:
        fragment, epoch = key
        process, earlier = self.starts[key], self.starts.get((fragment, epoch - 1))
        times = sorted(self.commits.get(fragment, {}).values())
        before = [t for t in times if t < process.since]
        after = [t for t in times if t >= process.since]
        if not before or not after or earlier is None:
            return
        normal = [b - a for a, b in pairwise(before)][-20:]
        self.finished[key] = Pause(
            fragment,
            epoch,
            self.warm.get(key, False),
            earlier.node,
            process.node,
            after[0] - before[-1],
            median(normal) if normal else 0.0,
        )
