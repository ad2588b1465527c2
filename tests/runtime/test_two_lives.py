"""Batches of two checkpoints are never taken for one another: a second life with the same sink or flow goes
on where the first one was, or is refused in words; nothing is dropped as a replay that was none."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.operators import Filter
from weir_runtime.labels import Label
from weir_runtime.lease import FileLease
from weir_runtime.process import EXIT_TERMINATED, FragmentProcess
from weir_runtime.publish import OtherNumbering, OthersRows

from tests.runtime import support
from tests.runtime.queries import cut, verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.sessions import Run
from tests.runtime.support import (
    ROOT,
    append_batch,
    files_output,
    fragment,
    launch,
    sink_rows,
    source,
    wait_for,
)

FORMAT_0 = "98f0272"
"""The last commit of format 0."""


def grow(log: Path, numbers: Sequence[int], end: bool = False) -> None:
    """More batches of a source's log."""
    for number in numbers:
        append_batch(log, number, rows(number))
    if end:
        (log / "END").touch()


def count(root: Path, **changes: object) -> FragmentSpec:
    """A windowed count of the log `a`, to the sink `out`."""
    output = files_output(root / "out", *COLUMNS)
    return fragment(root, "g", [source("a", root / "a")], [COUNT], output, **changes)


class Until(FragmentProcess):
    """A life that is told to stop when a batch with rows is published."""

    def _must_go(self) -> bool:
        if self.status.fields["batch"] >= 1:
            self.terminate.set()
        return super()._must_go()


Live = Callable[[FragmentSpec], FragmentProcess]


@pytest.fixture
def live(spark: pyspark.sql.SparkSession, tmp_path: Path) -> Live:
    """A first life over three batches of the log `a`, which ends with its log still open."""
    grow(tmp_path / "a", range(3))

    def run_one(spec: FragmentSpec) -> FragmentProcess:
        life = Until(spec, FileLease(spec.lease))
        assert life.execute(spark) == EXIT_TERMINATED
        return life

    return run_one


@pytest.fixture
def ended(run: Run, tmp_path: Path) -> FragmentSpec:
    """A count of three batches of the log `a`, which has run to its end."""
    grow(tmp_path / "a", range(3), end=True)
    spec = count(tmp_path)
    run(spec)
    return spec


def checkpoint_of(spec: FragmentSpec) -> Path:
    """The one that the first life has begun."""
    [folder] = [path for path in Path(spec.checkpoint).iterdir() if path.is_dir()]
    return folder


def test_a_sink_with_the_rows_of_a_lost_checkpoint_is_refused(live: Live, run: Run, tmp_path: Path) -> None:
    spec = count(tmp_path)
    live(spec)
    written = sink_rows(tmp_path / "out")
    assert written
    shutil.rmtree(spec.checkpoint)
    grow(tmp_path / "a", range(3, 5), end=True)
    with pytest.raises(
        OtherNumbering, match=r"out/[0-9a-f]{12}-\d+\.parquet: has batches of another"
    ) as error:
        run(spec)
    assert "empty the sink" in str(error.value)
    assert sink_rows(tmp_path / "out") == written, "nothing was written"


def test_a_query_that_is_made_again_does_not_mix_its_rows_with_those_of_its_first_life(
    run: Run, ended: FragmentSpec, tmp_path: Path
) -> None:
    """Also where the plan differs, so that its files have other names: readers of the sink would see both."""
    written = sink_rows(tmp_path / "out")
    again = fragment(tmp_path / "again", "g", [source("a", tmp_path / "a", delay=1)], [COUNT], ended.output)
    with pytest.raises(OtherNumbering):
        run(again)
    assert sink_rows(tmp_path / "out") == written


@pytest.mark.parametrize("delay", [0, 1], ids=["the same plan", "another plan"])
def test_another_query_does_not_mix_its_rows_with_those_of_a_deleted_one(
    run: Run, ended: FragmentSpec, tmp_path: Path, delay: int
) -> None:
    written = sink_rows(tmp_path / "out")
    item = source("a", tmp_path / "a", delay=delay)
    other = fragment(tmp_path / "other", "g", [item], [COUNT], ended.output, query="other")
    with pytest.raises(
        OthersRows, match=r"out/[0-9a-f]{12}-\d+\.parquet: has rows of query \S+/q\w*, this is"
    ):
        run(other)
    assert sink_rows(tmp_path / "out") == written, "nothing was written"


def test_an_edit_does_not_move_a_query_among_the_rows_of_a_deleted_one(
    run: Run, ended: FragmentSpec, tmp_path: Path
) -> None:
    """A plan that goes on from a cut is not at home in every folder that its sink names."""
    written = sink_rows(tmp_path / "out")
    item = source("a", tmp_path / "a", delay=1)
    output = replace(ended.output, after=1)
    edited = fragment(tmp_path / "other", "g", [item], [COUNT], output, query="other")
    with pytest.raises(OthersRows):
        run(edited)
    assert sink_rows(tmp_path / "out") == written, "nothing was written"


def test_an_edit_of_a_query_that_was_restored_finds_the_rows_of_its_first_name() -> None:
    label = Label("team/new", "second", after=1)
    before = {"weir.query": "team/old", "weir.numbering": "first"}
    label.check_all({"a.parquet": before, "b.parquet": {**before, "weir.query": "team/new"}}, "out", "c")


def test_a_plan_does_not_begin_over_rows_of_one_that_began_at_the_same_cut(run: Run, tmp_path: Path) -> None:
    """As of a plan that has lost its checkpoint, says that it has begun nothing, and gives way to an edit."""
    grow(tmp_path / "a", range(3), end=True)
    first = count(tmp_path)

    def plan(name: str, after: int, delay: int) -> FragmentSpec:
        item = source("a", tmp_path / "a", delay=delay)
        output = replace(first.output, after=after)
        return fragment(tmp_path / name, "g", [item], [COUNT], output)

    cut_time = support.ORIGIN + 2_000_000
    run(plan("second", cut_time, 0))
    written = sink_rows(tmp_path / "out")
    assert written
    with pytest.raises(OtherNumbering):
        run(plan("third", cut_time, 1))
    assert sink_rows(tmp_path / "out") == written
    run(plan("fourth", cut_time + 2_000_000, 1))
    assert len(sink_rows(tmp_path / "out")) > len(written)


def test_a_query_that_goes_on_under_another_name_keeps_its_rows(
    run: Run, ended: FragmentSpec, tmp_path: Path
) -> None:
    """As one does that begins from a snapshot: the numbering is the checkpoint's, not the name's."""
    written = sink_rows(tmp_path / "out")
    run(replace(ended, query="renamed"))
    assert sink_rows(tmp_path / "out") == written


def test_an_emptied_sink_begins_anew(run: Run, ended: FragmentSpec, tmp_path: Path) -> None:
    for folder in (ended.checkpoint, str(tmp_path / "out"), str(tmp_path / "leases")):
        shutil.rmtree(folder)
    run(ended)
    assert verdict(tmp_path, ended.inputs, ended.operators, COLUMNS).good


def test_another_spark_goes_on_with_the_same_checkpoint(
    live: Live, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = count(tmp_path)
    live(spec)
    checkpoint = checkpoint_of(spec)
    monkeypatch.setattr(pyspark, "__version__", "4.9.1")
    grow(tmp_path / "a", range(3, 6), end=True)
    run(spec)
    assert checkpoint_of(spec) == checkpoint
    assert json.loads((checkpoint / "numbering.json").read_text())["spark"] == "4.9.1"
    result = verdict(tmp_path, spec.inputs, spec.operators, COLUMNS)
    assert result.good, f"{result} {result.examples}"


def test_an_older_spark_does_not_read_a_newer_ones_state(
    live: Live, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = count(tmp_path)
    live(spec)
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    with pytest.raises(FragmentError, match=r"written by Spark .*; Spark 4\.1\.0 may read its state wrongly"):
        run(spec)


def test_a_checkpoint_of_a_newer_format_is_refused(live: Live, run: Run, tmp_path: Path) -> None:
    spec = count(tmp_path)
    live(spec)
    file = checkpoint_of(spec) / "numbering.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 2}))
    with pytest.raises(FragmentError, match="format 2, written by a newer Weir"):
        run(spec)


def earlier_version(to: Path) -> Path:
    """The last code whose checkpoints had no numbering, and names with Spark's version in them."""
    to.mkdir()
    archive = subprocess.run(
        ["git", "archive", FORMAT_0, "placement", "runtime"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-x", "-C", str(to)], input=archive.stdout, check=True)
    return to


def test_what_an_earlier_version_has_begun_goes_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Both fragments of a running query: neither its flow nor its sink is numbered anew."""
    code = earlier_version(tmp_path / "earlier")
    specs = two_fragments(tmp_path)
    grow(tmp_path / "a", range(3))
    with monkeypatch.context() as patch:
        patch.setattr(support, "ROOT", code)
        lives = [launch(spec, text=spec.identity_text()) for spec in specs]  # its flows had no kind
    wait_for(lambda: bool(sink_rows(tmp_path / "out")), "the earlier version publishes", 300)
    for life in lives:
        life.terminate()
        assert life.wait(120) == EXIT_TERMINATED
    checkpoints = [checkpoint_of(spec) for spec in specs]
    grow(tmp_path / "a", range(3, 6), end=True)
    for spec in specs:
        run(spec)
    assert [checkpoint_of(spec) for spec in specs] == checkpoints
    assert not list(tmp_path.glob("**/numbering.json"))
    result = verdict(tmp_path, specs[0].inputs, [*specs[0].operators, *specs[1].operators], COLUMNS)
    assert result.good, f"{result} {result.examples}"


def two_fragments(root: Path) -> list[FragmentSpec]:
    """The log handed on through a flow, and the count behind it."""
    keep = Filter("f", ("a",), predicate="a.v > 3", columns=("a.v",))
    return cut(root, [source("a", root / "a")], [keep, replace(COUNT, inputs=("f",))], COLUMNS, ends=["f"])


def test_a_flow_with_the_batches_of_a_lost_checkpoint_is_refused(
    live: Live, run: Run, tmp_path: Path
) -> None:
    producer, _ = two_fragments(tmp_path)
    live(producer)
    shutil.rmtree(producer.checkpoint)
    grow(tmp_path / "a", range(3, 5), end=True)
    with pytest.raises(OtherNumbering, match=r"exchange .*: has batches of another") as error:
        run(producer)
    assert "delete the query and apply it again" in str(error.value)


def test_a_reader_does_not_go_on_in_a_flow_that_was_begun_anew(
    spark: pyspark.sql.SparkSession, live: Live, run: Run, tmp_path: Path
) -> None:
    """Flow and checkpoint of the producer are lost together (a volume): batch 2 is another one then."""
    producer, consumer = two_fragments(tmp_path)
    live(producer)
    live(consumer)
    shutil.rmtree(producer.checkpoint)
    shutil.rmtree(producer.output.flow.address)  # type: ignore[union-attr]
    shutil.rmtree(tmp_path / "leases")
    grow(tmp_path / "a", range(3, 6), end=True)
    run(producer)
    with pytest.raises(RuntimeError, match="has batches of another checkpoint"):
        FragmentProcess(consumer, FileLease(consumer.lease)).execute(spark)
