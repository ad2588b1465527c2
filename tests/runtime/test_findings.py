"""What Spark does that cost hours to find: each would silently lose or double rows at an upgrade."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession
from weir_placement.model.operators import (
    Aggregate,
    Aggregation,
    Filter,
    Item,
    Join,
    Operator,
    Project,
    Union,
    Window,
)
from weir_runtime.inputs import open_input
from weir_runtime.plan import plan_hash
from weir_runtime.source import Control, WeirStreamReader
from weir_runtime.sources.files import FileLog

from tests.runtime.queries import check
from tests.runtime.sessions import Run
from tests.runtime.support import ORIGIN, files_output, fragment, sink_rows, source, write_log

SECOND = 1_000_000
KEYS = ["window.start", "k", "n", "s"]
COUNT = Aggregation("n", "count", None)


def steps(count: int, step: int = SECOND, k: int = 1) -> list[tuple[int, int, int]]:
    """Rows of one key, `step` us apart."""
    return [(k, i, (i + 1) * step) for i in range(count)]


def renamed(alias: str) -> tuple[Item, ...]:
    return tuple(Item(new, f"{alias}.{old}") for new, old in (("a.k", "k"), ("a.v", "v"), ("a.t", "ts")))


def count_by_second(above: str, time: str, seconds: float = 1.0) -> Operator:
    return Aggregate(
        "g", (above,), items=(Item("k", "a.k"),), time=time, window=seconds, slide=seconds,
        aggregations=(COUNT, Aggregation("s", "sum", "a.v")),
    )  # fmt: skip


def test_a_join_feeds_a_join_and_an_aggregate_in_one_fragment(run: Run, tmp_path: Path) -> None:
    """The later time of a join carries Spark's own event-time mark: `withWatermark` again is refused."""
    logs = [[steps(12, 700_000 + i * 90_000)[:6], steps(12, 700_000 + i * 90_000)[6:]] for i in range(3)]
    sources = [source(a, write_log(tmp_path / a, log)) for a, log in zip("abc", logs, strict=True)]
    j1 = Join("j1", ("a", "b"), on="a.k = b.k", windows=(Window("a", "b", -SECOND, SECOND),))
    j2 = Join(
        "j2", ("j1", "c"), on="b.k = c.k",
        windows=(Window("a", "c", -2 * SECOND, SECOND), Window("b", "c", -SECOND, SECOND)),
    )  # fmt: skip
    result = check(
        run, tmp_path, sources, [j1, j2, count_by_second("j2", "a.ts")], KEYS,
        max_batches=1,
    )  # fmt: skip
    assert result.rows > 3


def test_the_same_over_two_exchanges(run: Run, tmp_path: Path) -> None:
    """A count by the older time of a join behind an exchange: the clock is taken back by the window."""
    logs = [[steps(9, SECOND)[:3], steps(9, SECOND)[3:5], steps(9, SECOND)[5:]], [steps(20, 400_000)]]
    sources = [source(a, write_log(tmp_path / a, log)) for a, log in zip("ab", logs, strict=True)]
    j = Join("j", ("a", "b"), on="a.k = b.k", windows=(Window("a", "b", -3 * SECOND, 0),))
    check(
        run, tmp_path, sources, [j, count_by_second("j", "a.ts")], KEYS, ends=["j"],
        max_batches=1,
    )  # fmt: skip


def test_the_slow_branch_of_a_union_loses_nothing(run: Run, tmp_path: Path) -> None:
    """Spark's watermark is the maximum over a source: behind one exchange the fast branch would make
    the slow one late. Ours comes from the producer's markers."""
    fast = write_log(tmp_path / "a", [steps(8, 10 * SECOND)])
    slow = write_log(tmp_path / "b", [[row] for row in steps(8, SECOND, k=2)])
    sources = [source("a", fast), source("b", slow)]
    project = [
        Project(f"p{x}", (x,), items=renamed(x))
        for x in "ab"
    ]  # fmt: skip
    union = Union("u", ("pa", "pb"))
    result = check(
        run, tmp_path, sources, [*project, union, count_by_second("u", "a.t", 2.0)],
        KEYS, ends=["u"], max_batches=1,
    )  # fmt: skip
    assert result.rows == 8 + 5


def test_a_filter_does_not_swallow_the_markers(run: Run, tmp_path: Path) -> None:
    """Spark pushes a filter below the watermark node, where it never sees a marker: time would stand."""
    a = write_log(tmp_path / "a", [[row] for row in steps(6)])
    b = write_log(tmp_path / "b", [steps(6)])
    none = Filter("f", ("a",), predicate="a.v > 100", columns=("a.v",))
    spec = fragment(tmp_path, "f", [source("a", a)], [none], files_output(tmp_path / "o", "a.k"))
    assert run(spec).metrics.registry.get_sample_value(
        "weir_rows_in_total", {"query": "default/q", "fragment": "f", "operator": "f"}
    ) == 6  # fmt: skip
    j = Join("j", ("f", "b"), on="a.k = b.k", windows=(Window("a", "b", 0, SECOND),))
    check(run, tmp_path, [source("a", a), source("b", b)], [none, j], ["a.v", "b.v"], ends=["f"])


def test_lateness_does_not_depend_on_the_batches(run: Run, tmp_path: Path) -> None:
    """Spark's own late filter uses the previous batch's watermark. A row exactly `delay` old is on time,
    one microsecond more is late; late rows are set aside and counted."""
    rows = [
        (1, 0, 10 * SECOND),
        (1, 1, 7 * SECOND),
        (1, 2, 7 * SECOND - 1),
        (1, 3, 20 * SECOND),
        (1, 4, 8 * SECOND),
    ]
    outputs = []
    for name, batches in {"one": [rows], "many": [[row] for row in rows]}.items():
        root = tmp_path / name
        item = source("a", write_log(root / "a", batches), delay=3 * SECOND)
        check(
            run,
            root,
            [item],
            [count_by_second("a", "a.ts", 5.0)],
            KEYS,
            max_batches=1,
        )
        outputs.append(sink_rows(root / "out"))
        assert len(list((root / "late").rglob("*.arrow"))) == (1 if name == "one" else 2)
    assert outputs[0] == outputs[1]
    assert sum(row[2] for row in outputs[0]) == 3


def test_a_row_at_the_epoch_is_a_bad_row(tmp_path: Path) -> None:
    """The first watermark is 0: such a row would be late without a trace."""
    log = write_log(tmp_path / "a", [[(1, 1, -ORIGIN), (1, 2, SECOND)]])
    reader = open_input(
        source("a", log), fragment(tmp_path, "x", [source("a", log)], [], files_output(tmp_path / "o"))
    )
    assert reader is not None
    start = reader.log.start()
    end = reader.log.advance(start, 0, 1).place
    assert end["bad"] == 1
    assert [v for batch in reader.log.read(start, end) for v in batch.column("v").to_pylist()] == [2]


def test_order_is_by_number_and_never_by_modification_time(run: Run, tmp_path: Path) -> None:
    """A node whose clock is behind must lose nothing."""
    log = write_log(tmp_path / "a", [[row] for row in steps(5)])
    for number in range(5):
        os.utime(log / f"{number:010d}.parquet", (2_000_000_000 - number, 2_000_000_000 - number))
    check(
        run,
        tmp_path,
        [source("a", log)],
        [count_by_second("a", "a.ts")],
        KEYS,
        max_batches=2,
    )


def test_many_files_are_one_partition(tmp_path: Path) -> None:
    """200 tasks for 200 small files made a move's gap of 27 s."""
    item = source("a", write_log(tmp_path / "a", [[row] for row in steps(30)]))
    opened = open_input(item, fragment(tmp_path, "x", [item], [], files_output(tmp_path / "o")))
    assert opened is not None
    reader = WeirStreamReader(opened.log, "a", Control(tmp_path), most=64)
    start = reader.initialOffset()
    end = reader.latestOffset(start, None)
    assert end["at"]["next"] == 30
    assert len(reader.partitions(start, end)) == 1


def test_watermark_policy_is_min(spark: SparkSession) -> None:
    """With `max`, the slower input's rows would be late."""
    assert spark.conf.get("spark.sql.streaming.multipleWatermarkPolicy") == "min"


def test_a_plan_runs_once_a_batch(run: Run, tmp_path: Path) -> None:
    """Using a batch's frame twice runs the plan twice, and doubles every statistic."""
    item = source("a", write_log(tmp_path / "a", [steps(7), steps(5, 2 * SECOND)]), delay=60 * SECOND)
    operator = Project("p", ("a",), items=(Item("k", "a.k"),))
    process = run(fragment(tmp_path, "p", [item], [operator], files_output(tmp_path / "o", "k")))
    labels = {"query": "default/q", "fragment": "p", "operator": "p"}
    assert process.metrics.registry.get_sample_value("weir_rows_out_total", labels) == 12


def test_another_plan_never_opens_a_checkpoint(tmp_path: Path) -> None:
    """Spark accepts it silently: a sum became a maximum on one checkpoint, and gave 12."""
    item = source("a", write_log(tmp_path / "a", [steps(2)]))
    total = count_by_second("a", "a.ts")
    largest = replace(total, aggregations=(COUNT, Aggregation("s", "max", "a.v")))
    specs = [
        fragment(tmp_path, "g", [item], [o], files_output(tmp_path / "o", "s")) for o in (total, largest)
    ]
    inputs = open_input(item, specs[0])
    assert inputs is not None
    hashes = [plan_hash(spec, [inputs]) for spec in specs]
    assert hashes[0] != hashes[1]
    measured = replace(specs[0], operators=(replace(total, cost=7.0, groups=9.0),), epoch=4, node="n2")
    assert plan_hash(measured, [inputs]) == hashes[0], "a measured cost or a move changes no plan"


def test_what_a_killed_process_left_half_written_is_no_batch(run: Run, tmp_path: Path) -> None:
    """Spark refuses a folder for ever in which there is only a half written file of the first batch."""
    item = source("a", write_log(tmp_path / "a", [steps(3)]))
    operator = count_by_second("a", "a.ts")
    spec = fragment(tmp_path, "g", [item], [operator], files_output(tmp_path / "o", "n"))
    inputs = open_input(item, spec)
    assert inputs is not None
    folder = Path(spec.checkpoint) / plan_hash(spec, [inputs])
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
        (folder / name / ".0.5d0c.tmp").touch()
    run(spec)
    assert len(sink_rows(tmp_path / "o")) == 3
    assert not list(folder.rglob(".*.tmp"))


def test_file_log_reads_the_same_rows_from_any_position(tmp_path: Path) -> None:
    """A replay from the middle decides lateness as the first reading did."""
    item = source(
        "a",
        write_log(tmp_path / "a", [[(1, 1, 9 * SECOND)], [(1, 2, SECOND), (1, 3, 8 * SECOND)]]),
        delay=SECOND,
    )
    opened = open_input(item, fragment(tmp_path, "x", [item], [], files_output(tmp_path / "o")))
    assert opened is not None
    log = opened.log
    assert isinstance(log, FileLog)
    middle = log.advance(log.start(), 0, 1)
    end = log.advance(middle.place, middle.clock, 1)
    rows = [batch.column("v").to_pylist() for batch in log.read(middle.place, end.place)]
    assert rows == [[3]]
