"""What a batch costs and what a row costs, each apart: plans on Spark, a process for each fragment, CPU time
batch by batch over logs that are full already. One file of each stream is a batch."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from weir_placement.fragments import Ends, Knobs, Layout, cut
from weir_placement.model.fragment import FragmentSpec, Output
from weir_placement.model.operators import Operator
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Query
from weir_placement.model.streams import Column, Stream
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.cpu import CpuMeter
from weir_runtime.names import END

from weir_operator.bench.saturation import COLUMNS, write_sized

SMALL, LARGE = 100, 12_000
"""Rows of a stream in a batch: small and large by turns, so that both see code as warm."""
BLOCK = 4
"""Batches of one size before those of the other. What is done after a batch's commit is counted with the next
one, so the first one of a block does not count."""
TURNS, WARM = 5, 2
"""Pairs of blocks; those that do not count, while code is compiled."""
PERIOD = 0.005
"""[s] between two looks at a process: no commit is to be missed, and each seen at once."""
PATIENCE, SETTLING, WATCHED = 90.0, 2.0, 4.0
"""[s] for a process to begin; before it is idle; for which it is watched idling."""
RATE = 1_000.0
"""[rows/s] of each stream in event time, as `saturation.ROW_GAP` has it."""


@dataclass(frozen=True)
class BatchCost:
    """CPU-us of a batch without rows, and of each row of a stream in it."""

    batch: float
    row: float


class Commit(NamedTuple):
    """A batch that is committed, from 0 on, and the CPU seconds of the process until then."""

    batch: int
    cpu: float


def alternating() -> list[int]:
    """Rows of each file of a stream for `fitted`."""
    return ([SMALL] * BLOCK + [LARGE] * BLOCK) * TURNS


def fitted(commits: Sequence[Commit]) -> BatchCost:
    """From blocks of small and of large batches, by their medians: others share the machine, and garbage is
    collected.

    Raises:
        OSError: too few blocks were seen.
    """
    blocks = _blocks(commits)
    few, many = ([cpu for number, cpu in blocks.items() if number % 2 == large] for large in (0, 1))
    if not few or not many:
        raise OSError(f"only {len(few)} blocks of small and {len(many)} of large batches were seen")
    row = max((median(many) - median(few)) / (LARGE - SMALL), 0.0)
    return BatchCost(max(median(few) - row * SMALL, 0.0), row)


def cost_of_batch(commits: Sequence[Commit]) -> float:
    """[CPU-us] The median, where all batches are of one size.

    Raises:
        OSError: no block was seen.
    """
    blocks = _blocks(commits)
    if not blocks:
        raise OSError("no block of batches was seen")
    return median(blocks.values())


def _blocks(commits: Sequence[Commit]) -> dict[int, float]:
    """[CPU-us] of a batch in each block that counts, by the block's number."""
    costs = {}
    for number in range(WARM * 2, TURNS * 2):
        own = [c for c in commits if c.batch // BLOCK == number]
        if len(own) > 1:
            costs[number] = 1e6 * (own[-1].cpu - own[0].cpu) / (own[-1].batch - own[0].batch)
    return costs


def streams_of(aliases: Sequence[str], rate: float = RATE) -> dict[str, Stream]:
    """The streams of the logs."""
    columns = tuple(Column(c.name, c.type, 8.0) for c in COLUMNS)
    return {
        f"bench/{a}": Stream(f"bench/{a}", rate, columns, ("n1",), 32.0, "ts", delay=1.0) for a in aliases
    }


def plan_of(name: str, operators: Sequence[Operator], nodes: Mapping[str, str] | None = None) -> QueryPlan:
    """A plan of operators over the streams that they read; all on one node, unless `nodes` says more."""
    operator_ids = {op.id for op in operators}
    aliases = sorted({i for op in operators for i in op.inputs} - operator_ids)
    query = Query(f"bench/{name}", {a: f"bench/{a}" for a in aliases}, tuple(operators))
    at = {op.id: "n1" for op in operators} | dict(nodes or {})
    return QueryPlan(query, at, dict.fromkeys(aliases, "n1"))


def write_logs(folder: Path, sizes: Sequence[int], keys: int, ended: bool = True) -> dict[str, Path]:
    """Two logs with files of so many rows; without `ended` more may come."""
    for seed, alias in enumerate("ab", 1):
        write_sized(folder / alias, sizes, keys, seed)
        if not ended:
            (folder / alias / END).unlink()
    return {alias: folder / alias for alias in "ab"}


def observe(
    plan: QueryPlan, logs: Mapping[str, Path], folder: Path, cores: Sequence[int]
) -> list[list[Commit]]:
    """Runs a plan's fragments over logs to their end, the n-th on core n of `cores` (or again from the
    first); the commits of each, in the order of `cut`.

    Raises:
        OSError: a process failed; its log is in `folder`.
    """
    specs = _specs(plan, logs, folder / plan.query.name, Knobs(trigger_ms=0, max_batches=1))
    processes = [_start(spec, folder, cores[n % len(cores)]) for n, spec in enumerate(specs)]
    meters = [CpuMeter(process.pid) for process in processes]
    commits: list[list[Commit]] = [[] for _ in specs]
    try:
        while any(process.poll() is None for process in processes):
            time.sleep(PERIOD)
            for spec, meter, own in zip(specs, meters, commits, strict=True):
                last = _committed(spec)
                if last > (own[-1].batch if own else -1):
                    own.append(Commit(last, meter.seconds()))
    finally:
        for process in processes:
            process.terminate()
            process.wait(120)
    for spec, process in zip(specs, processes, strict=True):
        if process.returncode != 0:
            raise OSError(f"{spec.name} ended with {process.returncode}; see {_log(spec, folder)}")
    return commits


def _committed(spec: FragmentSpec) -> int:
    """The last batch of a fragment that is committed; -1: none."""
    folders = Path(spec.checkpoint).glob("*")
    return max((Checkpoint(folder).committed() for folder in folders if folder.is_dir()), default=-1)


def idle(plan: QueryPlan, folder: Path, core: int) -> float:
    """[CPU-us/s] of a process whose source has no more rows, but does not end.

    Raises:
        OSError: it failed, or did not begin in time; its log is in `folder`.
    """
    logs = write_logs(folder / "idle", [SMALL] * 4, 100, ended=False)
    (spec,) = _specs(plan, logs, folder / "standing", Knobs())
    process = _start(spec, folder, core)
    try:
        limit = time.monotonic() + PATIENCE
        while _committed(spec) < 0:
            if process.poll() is not None or time.monotonic() > limit:
                raise OSError(f"{spec.name} has not begun; see {_log(spec, folder)}")
            time.sleep(PERIOD)
        time.sleep(SETTLING)
        meter, since = CpuMeter(process.pid), time.monotonic()
        before = meter.seconds()
        time.sleep(WATCHED)
        return 1e6 * (meter.seconds() - before) / (time.monotonic() - since)
    finally:
        process.terminate()
        process.wait(120)


def _specs(plan: QueryPlan, logs: Mapping[str, Path], root: Path, knobs: Knobs) -> list[FragmentSpec]:
    sources = {a: {"files": {"uri": str(logs[a]), "format": "arrow"}} for a in plan.query.sources}
    layout = Layout(str(root))
    fragments = cut(
        plan, streams_of(sorted(plan.query.sources)), Ends(sources, Output("noop"), knobs=knobs), layout
    )
    return [layout.stamp(spec, 1, spec.node, False) for spec in fragments]


def _log(spec: FragmentSpec, folder: Path) -> Path:
    return folder / f"{spec.name}.log"


def _start(spec: FragmentSpec, folder: Path, core: int) -> subprocess.Popen[bytes]:
    path = folder / f"{spec.name}.json"
    path.write_text(spec.to_json())
    with _log(spec, folder).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "weir_runtime", str(path)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
