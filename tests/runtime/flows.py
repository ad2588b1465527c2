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
from weir_runtime.faults import AT_A_HAND_OVER, VARIABLE
from weir_runtime.lease import FileLease
from weir_runtime.publish import Fenced

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, Replayer
from tests.runtime.support import files_output, fragment, launch, runs, sink_rows, source, state, wait_for

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


def assert_right_through_kills_and_moves(
    folder: Path, flow: Output, points: Sequence[str], producer: Callable[[], int], zone: str = ""
) -> None:
    """Two fragments with a flow between them: the first is killed at each point, then moves twice. Both
    processes die at the instant of the hand-over: the one that leaves before it releases the lease (in the
    second move when it has), its successor when it has it.

    Args:
        producer: the port at which the flow says that its producer answers.
    """
    item = source("a", folder / "a")
    spec = fragment(folder, "f-f", [item], [FILTER], replace(flow, consumers=("f-g",)), zone=zone)
    reads = Input("f", "exchange", flow=flow.flow)
    reader = fragment(folder, "f-g", [reads], [COUNTED], files_output(folder / "out", *COLUMNS))
    replayer = Replayer(folder / "a")
    replayer.start()

    count = launch(reader)
    for point in points:
        assert launch(spec, **{VARIABLE: point}).wait(300) == -signal.SIGKILL
    for epoch, leaves in enumerate(AT_A_HAND_OVER, 2):
        first = launch(spec, **{VARIABLE: leaves})
        await_rows(folder, lambda: runs(first, spec))  # noqa: B023
        spec = replace(spec, epoch=epoch, standby=True, state=str(folder / f"states/f-e{epoch}.json"))
        second = launch(spec, **{VARIABLE: "after-acquire"})
        wait_for(lambda: state(spec)["phase"] == "standby-ready", "the standby is ready", 300)  # noqa: B023
        FileLease(spec.lease).hand_over(epoch)
        assert first.wait(120) == -signal.SIGKILL, leaves
        assert second.wait(120) == -signal.SIGKILL, leaves
    last = launch(spec)
    await_rows(folder, lambda: runs(last, spec))
    assert producer() == state(spec)["port"]

    replayer.finish.set()
    assert last.wait(300) == 0
    assert count.wait(300) == 0
    result = verdict(folder, [item], [FILTER, COUNTED], COLUMNS)
    assert result.good, f"{result} {result.examples}"
    assert result.rows > 10


def await_rows(folder: Path, condition: Callable[[], bool]) -> None:
    """Returns when the condition holds, and more rows have come out since."""
    wait_for(condition, "the process runs", 300)
    before = len(sink_rows(folder / "out"))
    wait_for(lambda: len(sink_rows(folder / "out")) > before, "rows through both fragments", 300)
