"""The machine's clock is set back while a fragment runs: it goes on, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.clock import SteppedClock
from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import (
    append_batch,
    files_output,
    fragment,
    launch,
    sink_rows,
    source,
    state,
    wait_for,
)


def test_a_clock_that_was_set_back_does_not_stop_a_fragment(tmp_path: Path) -> None:
    """Spark waited until the hour had come again."""
    log = tmp_path / "a"
    item = source("a", log)
    spec = fragment(tmp_path, "g", [item], [COUNT], files_output(tmp_path / "out", *COLUMNS))
    clock = SteppedClock(tmp_path)
    append_batch(log, 0, rows(0))
    append_batch(log, 1, rows(1))
    process = launch(spec, **clock.environment)
    wait_for(lambda: bool(sink_rows(tmp_path / "out")), "the first rows", 300)
    clock.step(-3600.0)
    assert process.wait(60) == 1
    assert "the clock was set back by 3600 s" in state(spec)["error"]
    append_batch(log, 2, rows(2))
    (log / "END").touch()
    assert launch(spec, **clock.environment).wait(300) == 0
    audit = verdict(tmp_path, [item], [COUNT], COLUMNS)
    assert audit.good, f"{audit} {audit.examples}"
