"""A process that fails leaves its error where Kubernetes shows it, without what Spark adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_runtime import last_words

SPARKS = """[STREAM_FAILED] Query [id = 1] terminated with exception: Traceback (most recent call last):
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


PYTHON = """[STREAM_FAILED] Query terminated with exception: {spark}Traceback (most recent call last):
  File "worker.py", line 1, in main
    raise error
KeyError: 'rows'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "weir_runtime/source.py", line 140, in latestOffset
    advance = self._log.advance(start["at"], start["clock"], self._most)
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ValueError: in/a/0000000000.csv, row 3: column n: x cannot be read as BIGINT (onBadRow: Fail){java}"""
BAD_ROW = "in/a/0000000000.csv, row 3: column n: x cannot be read as BIGINT (onBadRow: Fail)"


@pytest.mark.parametrize(
    ("spark", "java"),
    [
        ("[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when latestOffset: ", "\n SQLSTATE: 38000"),
        (
            "Job aborted: Lost task 0.0: org.apache.spark.api.python.PythonException: ",
            "\n\n\tat org.apache.spark.api.python.BasePythonRunner(Runner.scala:1)\n\nDriver stacktrace:",
        ),
    ],
)
def test_an_error_of_ours_is_told_in_one_line_without_the_way_to_it(spark: str, java: str) -> None:
    assert last_words.cause_of(PYTHON.format(spark=spark, java=java)) == BAD_ROW


def test_the_kind_of_another_error_is_kept() -> None:
    assert last_words.cause_of(SPARKS).startswith("TimeoutError: topic a: nothing more, ")


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
