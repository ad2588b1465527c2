"""Random small queries over random logs against one batch query on another engine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from weir_placement.model.fragment import FragmentSpec

from tests.runtime.feeding import fed
from tests.runtime.fragment_cases import FragmentCase, cases
from tests.runtime.queries import check
from tests.runtime.sessions import Run
from tests.runtime.support import source, write_log

RUNS = int(os.environ.get("WEIR_RANDOM_QUERIES", "8"))
"""`make soak` asks for 50."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random")


@settings(
    max_examples=RUNS,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=cases())
def test_any_query_gives_the_rows_of_the_batch_query(run: Run, folder: Path, case: FragmentCase) -> None:
    """Out-of-order rows, ties, idle streams, rows late at the source, any cut into fragments; fed live, in
    any order of the streams' files, or as a backlog."""
    event("fed live" if case.live else "a backlog")
    shutil.rmtree(folder)
    folder.mkdir()
    for alias, log in () if case.live else case.logs.items():
        write_log(folder / alias, log)

    def run_fed(spec: FragmentSpec) -> None:
        with fed(spec, folder, case.logs, case.live):
            run(spec)

    sources = [source(alias, folder / alias, delay=case.delay) for alias in case.logs]
    check(run_fed, folder, sources, case.operators, case.columns, case.ends, max_batches=case.most)
