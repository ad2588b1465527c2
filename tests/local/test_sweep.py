"""What is deleted of the flows between fragments: what every reader is past and no replay needs; and what
fragments that are gone have left. Nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from weir_operator.controller.desired_state import Fault
from weir_operator.controller.observed_state import ObservedState
from weir_operator.local.machine import Machine, Options
from weir_operator.local.sweep import Sweep
from weir_placement.fragments import Knobs, cut
from weir_placement.model.plan import QueryPlan
from weir_runtime.exchanges.folder.log import FolderLog
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.installation import VARIABLE, of_run, take

from tests.controller.scenario import (
    LAYOUT,
    FakeCluster,
    FakeExchange,
    Scenario,
    desired,
    loop,
    query,
    settle,
    stream,
)

SECOND = 1_000_000
TIMES = pa.schema([("v", pa.int64()), ("_time", pa.timestamp("us", "UTC"))])


def exchange(folder: Path, batches: int, keep: int = 0) -> FolderWriter:
    """One row a second and batch; the clock follows a second behind."""
    writer = FolderWriter(str(folder), 1, ("r1", "r2"), keep)
    for number in range(batches):
        at = (100 + number) * SECOND
        table = pa.Table.from_arrays([pa.array([number]), pa.array([at], TIMES.field(1).type)], schema=TIMES)
        writer.write(table, number, at - SECOND, lambda: None)
    return writer


def read_up_to(folder: Path, reader: str, number: int) -> None:
    FolderLog(str(folder), TIMES, reader).committed({"next": number})


def batches(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.arrow"))


def test_batches_go_when_the_slowest_reader_has_committed_them(tmp_path: Path) -> None:
    writer = exchange(tmp_path, 10)
    assert writer.delete_consumed() == 0, "no reader has said anything yet"
    read_up_to(tmp_path, "r1", 9)
    assert writer.delete_consumed() == 0, "the other reader has not"
    read_up_to(tmp_path, "r2", 4)
    assert writer.delete_consumed() == 4
    assert batches(tmp_path) == [4, 5, 6, 7, 8, 9]
    read_up_to(tmp_path, "gone", 99)
    assert writer.delete_consumed() == 0, "a reader that is none of its own counts for nothing"
    read_up_to(tmp_path, "r2", 9)
    assert writer.delete_consumed() == 5
    assert batches(tmp_path) == [9]


def test_without_retention_a_producer_starts_again_where_all_was_consumed(tmp_path: Path) -> None:
    """Then no batch is left that says how far event time is."""
    writer = exchange(tmp_path, 3)
    for reader in ("r1", "r2"):
        read_up_to(tmp_path, reader, 3)
    assert writer.delete_consumed() == 3
    again = FolderWriter(str(tmp_path), 2, ("r1", "r2"))
    assert again.delete_consumed() == 0
    again.write(TIMES.empty_table(), 3, 103 * SECOND, lambda: None)
    assert again.delete_consumed() == 0, "nobody has read it yet"
    for reader in ("r1", "r2"):
        read_up_to(tmp_path, reader, 4)
    assert again.delete_consumed() == 1
    assert batches(tmp_path) == []


def test_the_replay_horizon_keeps_more(tmp_path: Path) -> None:
    """Readers are past batch 8, whose clock is 107 s: with 3 s kept, batches up to 103 s go."""
    writer = exchange(tmp_path, 10, keep=3 * SECOND)
    for reader in ("r1", "r2"):
        read_up_to(tmp_path, reader, 9)
    assert writer.delete_consumed() == 4
    assert batches(tmp_path) == [4, 5, 6, 7, 8, 9]
    assert writer.delete_consumed() == 0


def test_a_writer_that_starts_again_goes_on_where_the_last_one_deleted(tmp_path: Path) -> None:
    for reader in ("r1", "r2"):
        read_up_to(tmp_path, reader, 3)
    exchange(tmp_path, 10).delete_consumed()
    (tmp_path / "stream.json").write_text("{}")
    for reader in ("r1", "r2"):
        read_up_to(tmp_path, reader, 6)
    assert FolderWriter(str(tmp_path), 2, ("r1", "r2")).delete_consumed() == 3
    assert batches(tmp_path) == [6, 7, 8, 9]
    assert (tmp_path / "stream.json").exists()
    assert sorted(path.stem for path in (tmp_path / "consumers").iterdir()) == ["r1", "r2"]


def test_the_retention_of_the_policy_is_the_horizon_of_flows(tmp_path: Path) -> None:
    flights = Path(__file__).parents[2] / "examples" / "flights"
    paths = tuple(str(flights / f"{name}.yaml") for name in ("streams", "queries", "cluster", "policy"))
    machine = Machine(Options(paths, tmp_path, tmp_path, Knobs()), lambda findings: None)
    snapshot = ObservedState(1000.0, machine.cluster.observe().objects)
    (group,) = machine.loop.desired_state(snapshot, machine.loop.settings).groups
    assert {query.ends.keep for query in group.queries.values()} == {600 * SECOND}
    one = query("q")
    plan = QueryPlan(one, {"f": "n1", "p": "n2"}, {"s": "n1"})
    ends = replace(desired(one).ends, keep=7 * SECOND)
    specs = cut(plan, {"default/s": stream("s", "n1")}, ends, LAYOUT)
    assert [spec.output.keep for spec in specs] == [7 * SECOND, 0]


def test_the_loop_sweeps_now_and_then_and_keeps_what_is_owned() -> None:
    cluster, exchange = FakeCluster(time=960.0), FakeExchange({"somebody-elses"})
    scenario = Scenario({"default/q": desired(query("q")), "default/r": desired(query("r"))})
    it = loop(scenario, cluster, exchange=exchange, period=1.0)
    settle(it)
    exchange.folders |= set(cluster.leases)
    for _ in range(180):
        it.once()
    assert exchange.folders == set(cluster.leases)
    assert exchange.sweeps in (3, 4)


@pytest.mark.parametrize("change", ["suspended", "faulty"])
def test_a_query_that_does_not_run_keeps_its_checkpoints(change: str) -> None:
    cluster = FakeCluster(time=960.0)
    scenario = Scenario({"default/q": desired(query("q"))})
    exchange = FakeExchange()
    it = loop(scenario, cluster, exchange=exchange, period=1.0)
    settle(it)
    checkpoints = set(cluster.leases)
    exchange.folders = set(checkpoints)
    if change == "suspended":
        scenario.queries["default/q"] = replace(scenario.queries["default/q"], suspended=True)
    else:
        scenario.queries, scenario.faults = {}, {"default/q": Fault("bad", generation=2)}
    for _ in range(130):
        it.once()
    assert exchange.sweeps > 1
    assert exchange.folders == checkpoints


def test_the_real_sweep_takes_folders_of_fragments_that_are_gone_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, of_run(tmp_path))
    for folder in (
        "exchange/a/f1",
        "exchange/a/f2",
        "exchange/b/f1",
        "checkpoints/a/f1",
        "late/b/f2",
        "leases/a/f1",
    ):
        (tmp_path / folder / "deep").mkdir(parents=True)
        take(tmp_path / folder)
    Sweep(tmp_path).sweep(frozenset({"f2"}))
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*/*"))
    assert left == ["exchange/a/f2", "late/b/f2", "leases/a/f1"]
