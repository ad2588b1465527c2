"""Clocks when an input is idle, and after a restart."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.operators import Filter, Join, Window
from weir_runtime.exchanges.folder.log import batch_metadata
from weir_runtime.lease import FileLease
from weir_runtime.process import EXIT_TERMINATED, FragmentProcess

from tests.runtime.queries import cut, verdict
from tests.runtime.sessions import Run
from tests.runtime.support import append_batch, sink_rows, source, write_log
from tests.runtime.test_findings import KEYS, SECOND, count_by_second, steps


def test_windows_close_while_the_input_is_idle(spark: SparkSession, tmp_path: Path) -> None:
    """A heartbeat dies in an aggregate: without the clock in each batch its readers stand still."""
    log = write_log(tmp_path / "a", [steps(5)], end=False)
    specs = cut(
        tmp_path, [source("a", log)],
        [count_by_second("a", "a.ts"), Filter("f", ("g",), predicate="n > 0")],
        ["k", "n"], ends=["g"],
    )  # fmt: skip
    for spec in specs:
        idle = Idle(spec, tmp_path / "out")
        assert idle.execute(spark) == EXIT_TERMINATED
        assert idle.status.phase == "stopped"
    assert (
        len(sink_rows(tmp_path / "out")) == 3
    )  # the clock is 1 ms before second 5: windows of seconds 1, 2, 3 are complete


class Idle(FragmentProcess):
    """Stops, gracefully, when three windows are published."""

    def __init__(self, spec: FragmentSpec, folder: Path) -> None:
        super().__init__(spec, FileLease(spec.lease))
        self._out = folder

    def _must_go(self) -> bool:
        if flow := self.spec.output.flow:
            batches = Path(flow.address).glob("0*.arrow")
            rows = sum(int(batch_metadata(path)["rows"]) for path in batches)
        else:
            rows = len(sink_rows(self._out))
        if rows >= 3:
            self.terminate.set()
        return super()._must_go()


def test_an_ended_input_does_not_hold_the_watermark_after_a_restart(
    spark: SparkSession, run: Run, tmp_path: Path
) -> None:
    """Spark keeps one watermark in a checkpoint, not one for each input: an input that has ended says
    nothing more, so each reader tells its clock again at every start."""
    a = write_log(tmp_path / "a", [steps(3)])
    b = write_log(tmp_path / "b", [steps(3)], end=False)
    sources = [source("a", a), source("b", b)]
    j = Join("j", ("a", "b"), on="a.k = b.k", windows=(Window("a", "b", -SECOND, SECOND),))
    operators = [j, count_by_second("j", "a.ts")]
    [spec] = cut(tmp_path, sources, operators, KEYS)

    class Briefly(FragmentProcess):
        def _must_go(self) -> bool:
            if self.status.fields["batch"] >= 1:
                self.terminate.set()
            return super()._must_go()

    assert Briefly(spec, FileLease(spec.lease)).execute(spark) == EXIT_TERMINATED
    append_batch(b, 1, [(1, 9, 5 * SECOND), (1, 9, 60 * SECOND)])
    (b / "END").touch()
    run(spec)
    result = verdict(tmp_path, sources, operators, KEYS)
    assert result.good, result
