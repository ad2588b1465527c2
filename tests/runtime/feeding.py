"""Sources that are fed while a fragment reads them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from weir_placement.model.fragment import FragmentSpec
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.names import END

from tests.runtime.support import Rows, append_batch, wait_for

Order = Sequence[tuple[str, bool]]
"""Each time that a source's alias comes, its next file is put into its place, and at last END; whether the
next one waits until that has been read."""


@contextmanager
def fed(spec: FragmentSpec, root: Path, logs: Mapping[str, Sequence[Rows]], order: Order) -> Iterator[None]:
    """While it lasts, the logs of this fragment's sources grow below `root`, in folders named by alias."""
    own = {item.name for item in spec.inputs if item.kind == "source"}
    for alias in own:
        (root / alias).mkdir(exist_ok=True)
    over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        feeder = pool.submit(_feed, spec, root, logs, [step for step in order if step[0] in own], over)
        try:
            yield
        finally:
            over.set()
        feeder.result()


def files_read(spec: FragmentSpec, name: str) -> int:
    """How many files of a source are in committed batches."""
    for folder in Path(spec.checkpoint).glob("*"):
        checkpoint = Checkpoint(folder)
        ends = checkpoint.offsets(checkpoint.committed())
        if name in ends:
            return int(ends[name]["at"]["next"])
    return 0


def _feed(
    spec: FragmentSpec,
    root: Path,
    logs: Mapping[str, Sequence[Rows]],
    order: Order,
    over: threading.Event,
) -> None:
    put = Counter[str]()
    for alias, awaited in order:
        number = put[alias]
        put[alias] += 1
        if number == len(logs[alias]):
            (root / alias / END).touch()
            continue
        append_batch(root / alias, number, logs[alias][number])
        if awaited:
            wait_for(partial(_has_read, spec, alias, number, over), f"file {number} of {alias} is read")


def _has_read(spec: FragmentSpec, alias: str, number: int, over: threading.Event) -> bool:
    return over.is_set() or files_read(spec, alias) > number
