"""Several fragments in one application: told by a file, each with its own start, stop, error and lease."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.hosted import HostedHolder
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter
from weir_runtime.lease import FileLease

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, Replayer
from tests.runtime.support import files_output, fragment, sink_rows, source, state, wait_for, write_log
from tests.runtime.told_hosts import HostInThread

FILTER = Filter("f", ("a",), predicate="a.v > 3", columns=("a.v",))
COUNTED = replace(COUNT, inputs=("f",))


@pytest.fixture
def hosts(tmp_path: Path, spark: SparkSession) -> Iterator[list[HostInThread]]:
    """Two of one application, which in life would be two."""
    both = [HostInThread(tmp_path, name, spark) for name in ("one", "other")]
    yield both
    for host in both:
        host.end()


def two(folder: Path) -> tuple[Input, FragmentSpec, FragmentSpec]:
    """A source, and two fragments with a flow between them."""
    item = source("a", folder / "a")
    flow = Output("exchange", flow=Location("folder", str(folder / "exchange" / "f")), consumers=("f-g",))
    reads = Input("f", "exchange", flow=flow.flow)
    first = fragment(folder, "f-f", [item], [FILTER], flow)
    return item, first, fragment(folder, "f-g", [reads], [COUNTED], files_output(folder / "out", *COLUMNS))


def test_a_fragment_fails_alone_moves_alone_and_no_row_is_lost(
    tmp_path: Path, hosts: list[HostInThread]
) -> None:
    item, first, second = two(tmp_path)
    poison_source = source("p", write_log(tmp_path / "p", []))
    (tmp_path / "p" / "0000000000.parquet").write_bytes(b"no such thing")
    poison_source = replace(poison_source, bad_rows={"onBadRow": "Fail"})
    poison = fragment(tmp_path, "f-p", [poison_source], [], Output("noop"))
    replayer = Replayer(tmp_path / "a")
    replayer.start()
    one, other = hosts
    one.want(first=first, second=second, poison=poison, bad={"name": "f-bad", "inputs": 7})

    def grows() -> None:
        before = len(sink_rows(tmp_path / "out"))
        wait_for(lambda: len(sink_rows(tmp_path / "out")) > before, "rows", 300)

    grows()
    wait_for(lambda: one.said("poison").get("restarts", 0) > 0, "the poison was tried again", 300)
    assert "onBadRow: Fail" in one.said("poison")["error"]
    wait_for(lambda: "fragment.checkpoint: missing" in one.said("bad")["error"], "the bad spec says why")
    assert (one.said("first")["restarts"], one.said("second")["restarts"]) == (0, 0)
    record = FileLease(first.lease).read()
    assert record is not None
    holder = HostedHolder.parse(record.holder)
    assert holder is not None
    assert holder.incarnation == one.host.incarnations.present()

    moved = replace(first, epoch=2, standby=True, state=str(tmp_path / "states" / "f-f-e2.json"))
    other.want(moved=moved)
    wait_for(lambda: state(moved)["phase"] == "standby-ready", "the standby is ready", 300)
    FileLease(first.lease).hand_over(2)
    wait_for(lambda: state(moved)["phase"] == "running", "it has moved", 300)
    wait_for(lambda: state(first)["phase"] == "released", "the one before says so")
    grows()
    other.drop("moved")
    wait_for(lambda: state(moved)["phase"] == "stopped", "it is stopped", 300)
    other.want(moved=moved)
    grows()

    replayer.finish.set()
    wait_for(lambda: state(second)["phase"] == "finished", "the end", 300)
    assert one.said("second")["restarts"] == 0
    result = verdict(tmp_path, [item], [FILTER, COUNTED], COLUMNS)
    assert result.good, f"{result} {result.examples}"
    assert result.rows > 10
