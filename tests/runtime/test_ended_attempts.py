"""A host in which fragments start and stop for weeks: what an ended attempt had is gone with it."""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter
from weir_runtime.cpu import tree
from weir_runtime.scratch import scratch

from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import append_batch, files_output, fragment, source, state, wait_for
from tests.runtime.told_hosts import HostInThread

FIRST, MORE = 4, 12
"""Rounds after which the pools of threads have their sizes, and rounds that must add nothing."""

SELECTORS = ("anon_inode:[eventpoll]", "anon_inode:[eventfd]")
"""What a selector of Java has open. Spark leaves one a start of a source (docs/runtime.md, "Hosts")."""

SLACK = {
    "threads": 4,
    "JVM threads": 8,
    "open files": 8,
    "selectors": 2 * len(SELECTORS) * MORE,
    "processes": 2,
    "listeners": 4,
    "temporaries": 2,
}
"""What comes and goes by itself: idle workers, pools, and the sessions that threads of a pool inherited from
whoever made them (a session has a listener). Fewer than the rounds, so that one a round is seen; of selectors
one for each of the two sources that a round starts, so that a second one is seen."""


def chain(folder: Path) -> dict[str, FragmentSpec]:
    """A filter, and a windowed count of what it gives."""
    flow = Output("exchange", flow=Location("folder", str(folder / "exchange" / "f")), consumers=("f-g",))
    kept = Filter("f", ("a",), predicate="a.v > 3", columns=("a.v",))
    first = fragment(folder, "f-f", [source("a", folder / "a")], [kept], flow)
    reads = Input("f", "exchange", flow=flow.flow)
    count = replace(COUNT, inputs=("f",))
    second = fragment(folder, "f-g", [reads], [count], files_output(folder / "out", *COLUMNS))
    return {"first": first, "second": second}


def open_files() -> Counter[str]:
    """Of the tests' process and all it has started, by what they are, without numbers."""
    names: Counter[str] = Counter()
    for pid, _ in tree(os.getpid()):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # it ended while we looked
                names[re.sub(r"\d+", "#", os.readlink(link))] += 1
    return names


def in_use(spark: SparkSession) -> dict[str, int]:
    """What the host's processes have, by kind."""
    gc.collect()
    jvm, context = spark._jvm, spark.sparkContext._jsc.sc()
    assert jvm is not None
    jvm.System.gc()
    files = open_files()
    selectors = sum(files[name] for name in SELECTORS)
    threads = jvm.java.lang.management.ManagementFactory.getThreadMXBean().getThreadCount()
    return {
        "threads": len(os.listdir("/proc/self/task")),
        "JVM threads": int(threads),
        "open files": files.total() - selectors,
        "selectors": selectors,
        "processes": len(list(tree(os.getpid()))),
        "listeners": int(context.listenerBus().listeners().size()),
        "temporaries": len(list(scratch().rglob("*"))),
    }


def test_what_ended_attempts_had_does_not_add_up(tmp_path: Path, spark: SparkSession) -> None:
    specs = chain(tmp_path)
    host = HostInThread(tmp_path, "one", spark)
    number = 0

    def round_of_all() -> None:
        """Each starts, commits a batch, and is stopped."""
        nonlocal number
        append_batch(tmp_path / "a", number, rows(number))
        number += 1
        host.want(**specs)
        for spec in specs.values():
            wait_for(lambda spec=spec: state(spec).get("batch", -1) >= 0, f"a batch of {spec.name}", 300)
        for key in specs:
            host.drop(key)
        for key, spec in specs.items():
            wait_for(lambda spec=spec: state(spec)["phase"] == "stopped", f"{spec.name} is stopped", 300)
            wait_for(lambda key=key: not host.said(key), f"{key} is forgotten", 300)
            Path(spec.state).unlink()

    try:
        for _ in range(FIRST):
            round_of_all()
        before, files = in_use(spark), open_files()
        for _ in range(MORE):
            round_of_all()
        now: dict[str, int] = {}

        def no_more() -> bool:
            now.update(in_use(spark))
            return all(now[kind] <= before[kind] + SLACK[kind] for kind in before)

        try:
            wait_for(no_more, "no more is in use", 120)
        finally:
            print(f"{before}\n{now}\n{open_files() - files}")
    finally:
        host.end()
