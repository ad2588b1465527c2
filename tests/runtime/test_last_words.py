"""A process that fails leaves its error where Kubernetes shows it, without what Spark adds to it."""

from __future__ import annotations

from pathlib import Path

from weir_runtime import last_words

SPARKS = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Traceback:
  File "log.py", line 10, in read
TimeoutError: topic a: nothing more, partition 0 stands at 5 of 9
 SQLSTATE: 38000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 1, runId = 2]
Current Committed Offsets: {}
Logical Plan:
~WriteToMicroBatchDataSourceV1 ForeachBatchSink"""


def test_the_cause_is_told_without_the_querys_plan() -> None:
    assert last_words.cause_of(SPARKS).endswith("partition 0 stands at 5 of 9")
    assert "Logical Plan" not in last_words.cause_of(SPARKS)


def test_the_end_of_a_long_error_is_left(tmp_path: Path) -> None:
    place = tmp_path / "termination-log"
    place.touch()  # as the kubelet does
    last_words.leave(RuntimeError("x" * 5000 + " no topic a"), place)
    assert place.read_text().endswith("no topic a")
    assert len(place.read_bytes()) <= 4096
    last_words.leave(OSError("disk"), place)
    assert place.read_text() == "OSError: disk"


def test_elsewhere_nothing_is_left(tmp_path: Path) -> None:
    last_words.leave(OSError("disk"), tmp_path / "termination-log")
    assert not list(tmp_path.iterdir())
