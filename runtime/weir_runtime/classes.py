"""`python -m weir_runtime.classes`: makes the archive of classes that a fragment's JVM starts from.

A third of what a start costs is Java reading, parsing and verifying Spark's classes. A JVM can write those
that it has used into an archive when it ends ("class-data sharing"), and later ones map that into memory,
where all JVMs of a machine share it. So one JVM runs here what fragments run, over made-up rows. The archive
is for this Java and these jars alone; a JVM that finds that it was made from others says so, and reads its
classes as before.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from weir_placement.model.fragment import FragmentSpec, Input, Output, TypedColumn
from weir_placement.model.operators import Aggregate, Aggregation, Item, Join, Window

from weir_runtime.inputs import open_input
from weir_runtime.session import CLASSES, end, kill_jvm, start_session
from weir_runtime.source import WeirSource
from weir_runtime.standby import warm_up

COLUMNS = (TypedColumn("k", "BIGINT"), TypedColumn("name", "STRING"), TypedColumn("ts", "TIMESTAMP"))

SECOND = 1_000_000  # [us]

JOIN = Join(
    "j",
    ("a", "b"),
    columns=("a.k", "b.k"),
    on="a.k = b.k",
    windows=(Window("a", "b", -SECOND, SECOND),),
)

COUNT = Aggregate(
    "c",
    ("a",),
    columns=("a.k", "a.ts"),
    items=(Item("a.k", "a.k"),),
    time="a.ts",
    window=1.0,
    slide=1.0,
    aggregations=(Aggregation("n", "count", None),),
)


def record(archive: Path) -> None:
    """Writes `archive`; half a minute. Raises RuntimeError when Java does not write one."""
    archive.unlink(missing_ok=True)  # the JVM that writes must not start from another
    written = archive.with_suffix(".part")
    os.environ["JDK_JAVA_OPTIONS"] = f"-XX:ArchiveClassesAtExit={written} -Xlog:disable"
    spark = start_session()
    spark.dataSource.register(WeirSource)
    with tempfile.TemporaryDirectory() as folder:
        for spec in _fragments(Path(folder)):
            opened = [open_input(item, spec) for item in spec.inputs]
            warm_up(spark, spec, [item for item in opened if item])
    spark.stop()
    kill_jvm(signal.SIGTERM)
    if not written.exists():
        raise RuntimeError(f"Java wrote no archive of its classes to {written}")
    written.rename(archive)


def _fragments(folder: Path) -> tuple[FragmentSpec, ...]:
    sources = {"files": {"uri": str(folder / "log"), "format": "parquet"}}
    a = Input("a", "source", source=sources, columns=COLUMNS, event_time="ts")
    join = FragmentSpec(
        name="classes",
        namespace="default",
        query="q",
        node="n",
        epoch=1,
        inputs=(a, replace(a, name="b")),
        operators=(JOIN,),
        output=Output("noop"),
        checkpoint=str(folder / "checkpoint"),
        lease=str(folder / "lease.json"),
        state=str(folder / "state.json"),
    )
    return join, replace(join, inputs=(a,), operators=(COUNT,))


if __name__ == "__main__":
    record(CLASSES)
    print(f"classes: {CLASSES} ({CLASSES.stat().st_size / 1e6:.0f} MB)")
    sys.stdout.flush()
    end()
    os._exit(0)  # as in __main__: Spark's clients would only find that their JVM is gone
