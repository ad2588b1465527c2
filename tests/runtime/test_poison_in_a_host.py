"""A fragment whose batch never ends, and one that needs more memory than there is, beside a healthy one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from weir_placement.model.fragment import FragmentSpec, Output
from weir_placement.model.operators import Filter, Join, Window

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, Replayer
from tests.runtime.support import files_output, fragment, sink_rows, source, state, wait_for, write_log
from tests.runtime.told_hosts import HostProcess

SECOND = 1_000_000
A = "a" * 100
HUGE = "replace(cast(d.v as string), '7', 'aaaaaaaaaaaaaaaaaaaa')"
for _ in range(4):
    HUGE = f"replace({HUGE}, 'a', '{A}')"
"""Of the row 7: a text of two gigabytes."""

LONG = 600.0
"""[s] A condition that has not come by then never comes."""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostProcess]:
    """Of one core and half a gigabyte, with little patience for a batch."""
    it = HostProcess(tmp_path, "one", heap_mb=512, batch_seconds=15.0)
    it.start()
    yield it
    it.end()


def endless_fragment(folder: Path, name: str) -> FragmentSpec:
    """A join of 3,600,000,000 pairs in one batch, of which none is wanted."""
    many = [[(i, i, i) for i in range(60_000)]]
    both = [source(alias, write_log(folder / name / alias, many)) for alias in "bc"]
    pairs = Join("j", ("b", "c"), on="b.v + c.v < 0", windows=(Window("b", "c", -SECOND, SECOND),))
    return fragment(folder, name, both, [pairs], Output("noop"))


def test_two_endless_batches_leave_another_fragment_its_turns_on_one_core(tmp_path: Path) -> None:
    healthy = fragment(tmp_path, "f-g", [source("a", tmp_path / "a")], [COUNT], Output("noop"))
    poison = {name: endless_fragment(tmp_path, name) for name in ("f-i", "f-j")}
    host = HostProcess(tmp_path, "one", heap_mb=512)
    host.want(**poison)
    process = host.start()
    replayer = Replayer(tmp_path / "a", every=1.0)
    replayer.start()
    try:
        for name, spec in poison.items():
            batches = Path(spec.checkpoint)
            wait_for(lambda batches=batches: any(batches.glob("*/offsets/0")), f"the batch of {name}", LONG)
        host.want(healthy=healthy)
        wait_for(lambda: state(healthy).get("batch", -1) >= 5, "six batches", LONG)
        assert [state(spec)["batch"] for spec in poison.values()] == [-1, -1], "theirs has not ended"
        assert [host.said(name)["restarts"] for name in poison] == [0, 0]
    finally:
        replayer.finish.set()
        process.kill()
        process.wait()


def test_poison_is_cut_off_or_named_and_the_healthy_one_loses_nothing(
    tmp_path: Path, host: HostProcess
) -> None:
    item = source("a", tmp_path / "a")
    healthy = fragment(tmp_path, "f-g", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    endless = endless_fragment(tmp_path, "f-j")
    replayer = Replayer(tmp_path / "a", every=1.0)
    replayer.start()

    def grows(batches: int = 1) -> None:
        before = len(list((tmp_path / "out").glob("*.parquet")))
        wait_for(lambda: len(list((tmp_path / "out").glob("*.parquet"))) >= before + batches, "rows", LONG)

    host.want(healthy=healthy, endless=endless)
    grows()
    wait_for(lambda: host.said("endless").get("phase") == "running", "the endless batch", LONG)
    grows(3)
    wait_for(lambda: "cut off" in host.said("endless").get("error", ""), "it is cut off", LONG)
    wait_for(lambda: host.said("endless")["restarts"] > 0, "and batches again", LONG)
    assert host.said("endless")["alone"] == ""
    assert host.said("healthy")["restarts"] == 0, "others do not notice"

    host.drop("endless")
    wait_for(lambda: not host.said("endless"), "it has left", LONG)
    wide = Filter("w", ("d",), predicate=f"length({HUGE}) > 0", columns=("d.v",))
    hungry_log = write_log(tmp_path / "d", [[(1, 7, 1)]])
    hungry = fragment(tmp_path, "f-w", [source("d", hungry_log)], [wide], Output("noop"))
    host.want(hungry=hungry)
    assert host.process.wait(LONG) == 1, "a JVM without memory ends with its host"
    assert "out of memory" in host.said("hungry")["alone"]
    assert host.said("healthy")["alone"] == ""

    del host.wanted["hungry"]
    host.want()
    host.start()
    grows()
    replayer.finish.set()
    wait_for(lambda: host.said("healthy").get("phase") == "finished", "the end", LONG)
    result = verdict(tmp_path, [item], [COUNT], COLUMNS)
    assert result.good, f"{result} {result.examples}"
    assert len(sink_rows(tmp_path / "out")) == result.rows > 10
