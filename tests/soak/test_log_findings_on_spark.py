"""Findings about logs, publishing and the session that need Spark (the others: tests/runtime)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from weir_placement.model.fragment import Output
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter, Join, Operator, Window
from weir_runtime import process
from weir_runtime.exchanges.folder.log import batch_metadata
from weir_runtime.inputs import open_input
from weir_runtime.lease import FileLease, LeaseRecord
from weir_runtime.logs.log import Log
from weir_runtime.process import FragmentProcess
from weir_runtime.publish import Fenced

from tests.runtime.queries import check, cut, verdict
from tests.runtime.sessions import Run
from tests.runtime.support import files_output, fragment, sink_rows, source, write_log
from tests.runtime.test_findings import KEYS, SECOND, count_by_second, steps
from tests.runtime.test_rate_log import rate_input


def opened(tmp_path: Path, log: Path, start: int = 0) -> Log:
    item = source("a", log, start=start)
    input_ = open_input(item, fragment(tmp_path, "x", [item], [], files_output(tmp_path / "o")))
    assert input_ is not None
    return input_.log


def test_reading_begins_at_any_batch(run: Run, tmp_path: Path) -> None:
    """Spark's own file source has no start position; ours replays from where it is told."""
    log = write_log(tmp_path / "a", [[row] for row in steps(5)])
    run(fragment(tmp_path, "f", [source("a", log, start=3)], [], files_output(tmp_path / "o", "a.v")))
    assert sink_rows(tmp_path / "o") == [(3,), (4,)]


def test_readers_publish_their_position_and_empty_batches_are_published_too(run: Run, tmp_path: Path) -> None:
    """A consumer of a flow that filters everything still learns the clock, and its windows close."""
    log = write_log(tmp_path / "a", [[row] for row in steps(4)])
    none = Filter("f", ("a",), predicate="a.v > 100")
    producer, consumer = cut(
        tmp_path, [source("a", log)], [none, count_by_second("f", "a.ts")], KEYS, ends=["f"], max_batches=1
    )
    run(producer)
    assert producer.output.flow is not None
    exchange = Path(producer.output.flow.address)
    batches = json.loads((exchange / "END").read_text())["batches"]
    numbers = sorted(int(path.stem) for path in exchange.glob("*.arrow"))
    assert numbers == list(range(batches))
    clocks = [int(batch_metadata(path)["clock"]) for path in sorted(exchange.glob("*.arrow"))]
    assert clocks == sorted(clocks)
    assert {batch_metadata(path)["rows"] for path in exchange.glob("*.arrow")} == {"0"}
    run(consumer)
    position = json.loads((exchange / "consumers" / f"{consumer.name}.json").read_text())
    assert 0 < position["next"] <= batches


def test_an_epoch_that_is_over_publishes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is checked after the batch was computed, immediately before it is published."""
    log = write_log(tmp_path / "a", [steps(3)])
    spec = fragment(tmp_path, "f", [source("a", log)], [], files_output(tmp_path / "o", "a.v"))

    life = FragmentProcess(spec, FileLease(spec.lease))
    fence = life.tenure.fence

    def overtaken() -> None:
        FileLease(spec.lease)._write(LeaseRecord(2, "another:1:1", 0.0, 10.0))
        fence()

    monkeypatch.setattr(life.tenure, "fence", overtaken)
    with pytest.raises(Fenced, match="the lease says"):
        life.execute(spark)
    assert sink_rows(tmp_path / "o") == []
    assert not list((tmp_path / "o").glob(".*")), "the temporary file is gone too"


def test_a_batch_that_was_published_is_run_in_full_again(
    spark: SparkSession, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Returning early kills a query with state at every restart (STATE_STORE_COMMIT_VALIDATION_FAILED)."""
    log = write_log(tmp_path / "a", [steps(5), steps(5, 3 * SECOND)])
    item, count = source("a", log, delay=60 * SECOND), count_by_second("a", "a.ts")
    spec = fragment(tmp_path, "g", [item], [count], files_output(tmp_path / "out", *KEYS), max_batches=1)

    def die(point: str) -> None:
        if point == "before-commit":
            raise OSError("killed between publish and commit")

    with monkeypatch.context() as patch:
        patch.setattr(process, "reach", die)
        with pytest.raises(RuntimeError, match="killed between"):
            FragmentProcess(spec, FileLease(spec.lease)).execute(spark)
    run(spec)
    assert sum(row[2] for row in sink_rows(tmp_path / "out")) == 10


@pytest.mark.parametrize(("earlier", "later"), [(1, 3), (3, 1)])
def test_a_checkpoint_keeps_its_partitions_when_the_cores_change(
    spark: SparkSession,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    earlier: int,
    later: int,
) -> None:
    """Else `resources.cpu` would be part of a checkpoint's name, and state would be lost with each change."""
    log = write_log(tmp_path / "a", [steps(5), steps(5, 3 * SECOND)])
    item, count = source("a", log), count_by_second("a", "a.ts")
    spec = fragment(tmp_path, "g", [item], [count], files_output(tmp_path / "out", *KEYS), max_batches=1)
    partitions = "spark.sql.shuffle.partitions"
    batches = 0

    def die_in_the_second(point: str) -> None:
        nonlocal batches
        batches += point == "before-plan"
        if batches == 2:
            raise OSError("killed in the second batch")

    spark.conf.set(partitions, earlier)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(process, "reach", die_in_the_second)
            with pytest.raises(RuntimeError, match="killed in the second"):
                FragmentProcess(spec, FileLease(spec.lease)).execute(spark)
        spark.conf.set(partitions, later)
        done = run(spec)
    finally:
        spark.conf.set(partitions, 1)
    state = Path(spec.checkpoint) / done.status.fields["hash"] / "state" / "0"
    assert sorted(path.name for path in state.glob("[0-9]*")) == [str(n) for n in range(earlier)]
    audit = verdict(tmp_path, [item], [count], KEYS)
    assert audit.good, f"{audit}\n{audit.examples}"


def three_way(order: str) -> list[Operator]:
    """a, b, c within a second of each other, joined from the left or from the right."""
    reach = {pair: Window(pair[0], pair[1], -SECOND, SECOND) for pair in ("ab", "bc", "ac")}
    if order == "left":
        first = Join("j1", ("a", "b"), on="a.k = b.k", windows=(reach["ab"],))
        return [
            first,
            Join("j2", ("j1", "c"), on="b.k = c.k", windows=(reach["bc"], reach["ac"])),
        ]
    first = Join("j1", ("b", "c"), on="b.k = c.k", windows=(reach["bc"],))
    return [first, Join("j2", ("a", "j1"), on="a.k = b.k", windows=(reach["ab"], reach["ac"]))]


@pytest.mark.parametrize("order", ["left", "right"])
def test_rows_with_equal_times_join_once(run: Run, tmp_path: Path, order: str) -> None:
    """Ties are where a multi-way join loses or doubles rows."""
    logs = [[steps(3), [(1, i, 3 * SECOND) for i in range(3)]] for _ in "abc"]
    sources = [source(a, write_log(tmp_path / a, log)) for a, log in zip("abc", logs, strict=True)]
    result = check(
        run, tmp_path, sources, three_way(order), ["a.v", "b.v", "c.v", "a.ts", "c.ts"], max_batches=1
    )
    assert result.rows > 4**3


def test_a_watermark_is_read_from_the_offsets_written_before_the_batch(run: Run, tmp_path: Path) -> None:
    """So a batch that is run again is published with the same clock."""
    log = write_log(tmp_path / "a", [steps(3), steps(3, 4 * SECOND)])
    spec = fragment(
        tmp_path,
        "f",
        [source("a", log)],
        [],
        Output("exchange", flow=Location("folder", str(tmp_path / "e"))),
        max_batches=1,
    )
    process = run(spec)
    clocks = [int(batch_metadata(path)["clock"]) for path in sorted((tmp_path / "e").glob("*.arrow"))]
    from weir_runtime.checkpoint import Checkpoint

    checkpoint = Checkpoint(Path(spec.checkpoint) / process.status.fields["hash"])
    written = [checkpoint.watermark_ms(number) * 1000 for number in range(len(clocks))]
    assert clocks[:-1] == written[:-1]
    assert clocks[-1] > written[-2]


def test_a_fragment_over_a_generator_gives_each_row_once(run: Run, tmp_path: Path) -> None:
    item = rate_input(rowsPerSecond=400.0, rows=200)
    run(fragment(tmp_path, "r", [item], [], files_output(tmp_path / "o", "r.k", "r.name", "r.ts")))
    actual = sink_rows(tmp_path / "o")
    assert len(actual) == 200
    assert len({row[2] for row in actual}) == 200
