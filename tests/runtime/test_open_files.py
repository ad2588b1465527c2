"""A host ends in order before its JVM can open no more files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession
from weir_runtime import host as under_test
from weir_runtime.host import Host, HostSpec
from weir_runtime.lease import FileLease
from weir_runtime.open_files import share_open
from weir_runtime.process import EXIT_TERMINATED

HAS_MANY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
files = [open("/dev/null") for _ in range(87)]
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def full() -> Iterator[int]:
    """The pid of a process that has 90 of 100 files open."""
    command = [sys.executable, "-c", HAS_MANY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield process.pid


def test_the_share_of_files_that_are_open(full: int) -> None:
    assert share_open(full) == 0.9


def test_a_host_whose_jvm_has_too_many_files_open_ends_as_when_it_is_told_to(
    full: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_test, "jvm_pid", lambda: full)
    files = (str(tmp_path / f"{what}.json") for what in ("lease", "desired", "state"))
    spec = HostSpec("one", *files)
    assert Host(spec, cast(SparkSession, None)).run() == EXIT_TERMINATED
    record = FileLease(spec.lease).read()
    assert record is None or record.released, "whoever follows does not wait"
