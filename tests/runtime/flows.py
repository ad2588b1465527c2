"""Batches of a flow, the leases under which they are published, and a producer that dies and moves."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from weir_placement.model.fragment import Input, Output
from weir_placement.model.operators import Filter
from weir_runtime.compiler import TIME
from weir_runtime.faults import VARIABLE
from weir_runtime.lease import FileLease
from weir_runtime.publish import Fenced

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, Replayer
from tests.runtime.support import files_output, fragment, launch, sink_rows, source, state, wait_for

SCHEMA = pa.schema([("v", pa.int64()), (TIME, pa.timestamp("us", tz="UTC"))])
DESCRIPTION: dict[str, object] = {"version": 1, "columns": ["v"]}
FILTER = Filter("f", ("a",), predicate="a.v > 3", columns=("a.v",))
COUNTED = replace(COUNT, inputs=("f",))


def batch(*values: int) -> pa.Table:
    """A row for each value, whose event time is that [us]."""
    return pa.table(
        [pa.array(values, pa.int64()), pa.array(values, pa.timestamp("us", "UTC"))], schema=SCHEMA
    )


def free() -> None:
    """A lease that is held."""


def fenced() -> None:
    """A lease that is another's."""
    raise Fenced("over")


class Died(Exception):
    """Where a process was killed."""


def dies() -> None:
    """When all is ready to be published."""
    raise Died


def assert_right_through_kills_and_a_move(
    folder: Path, flow: Output, points: Sequence[str], producer: Callable[[], int], zone: str = ""
) -> None:
    """Two fragments with a flow between them: the first is killed at each point, and moves warm.

    Args:
        producer: the port at which the flow says that its producer answers.
    """
    item = source("a", folder / "a")
    old = fragment(folder, "f-f", [item], [FILTER], replace(flow, consumers=("f-g",)), zone=zone)
    new = replace(old, epoch=2, standby=True, state=str(folder / "states" / "f-e2.json"))
    reads = Input("f", "exchange", flow=flow.flow)
    reader = fragment(folder, "f-g", [reads], [COUNTED], files_output(folder / "out", *COLUMNS))
    replayer = Replayer(folder / "a")
    replayer.start()

    count = launch(reader)
    for point in points:
        assert launch(old, **{VARIABLE: point}).wait(300) == -signal.SIGKILL
    first = launch(old)
    wait_for(lambda: len(sink_rows(folder / "out")) > 0, "rows through both fragments", 300)

    second = launch(new)
    wait_for(lambda: state(new)["phase"] == "standby-ready", "the standby is ready", 300)
    FileLease(old.lease).hand_over(2)
    assert first.wait(120) == 0
    assert state(old)["phase"] == "released"
    before = len(sink_rows(folder / "out"))
    wait_for(lambda: len(sink_rows(folder / "out")) > before, "rows of the new process", 300)
    assert producer() == state(new)["port"]

    replayer.finish.set()
    assert second.wait(300) == 0
    assert count.wait(300) == 0
    result = verdict(folder, [item], [FILTER, COUNTED], COLUMNS)
    assert result.good, f"{result} {result.examples}"
    assert result.rows > 10
