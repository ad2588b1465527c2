"""What a finished query has read and written is said in words that are true; no row at all is a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from weir_operator.cli.run_report import unreadable
from weir_operator.controller.decision import WritePlacement
from weir_operator.local.balances import balances
from weir_operator.local.store import RunStore
from weir_runtime.balance import Balance

from tests.runtime.support import files_output, fragment, source


def stored(folder: Path, batches: int = 2, **rows: int) -> dict[str, Any]:
    """Of a fragment that reads `default/s` in two batches of 10 rows and writes 4."""
    balance = Balance(fragment(folder, "f", [source("s", folder)], [], files_output(folder, "k")))
    used = rows.pop("used", 10)
    for _ in range(2):
        balance.batch(s=used, other=7)
    balance.add("s", **rows)
    balance.add("other", late=5)
    balance.write(4)
    return balance.stored(batches)


def finished(folder: Path, **balances_of: dict[str, Any]) -> None:
    """A query whose fragments have left these balances."""
    (folder / "processes").mkdir()
    for name, balance in balances_of.items():
        state = folder / f"{name}-state.json"
        state.write_text(json.dumps({"phase": "finished", "balance": balance}))
        entry = {"fragment": name, "epoch": 1, "state": str(state)}
        (folder / "processes" / f"{name}-e1.json").write_text(json.dumps(entry))
    fragments = [{"name": name} for name in balances_of]
    RunStore(folder).write_placement(WritePlacement("default/q", {"fragments": fragments}, {}))


@pytest.mark.parametrize(
    ("balance", "lines"),
    [
        ({}, ["stream default/s: 20 rows read", "4 rows written"]),
        (
            {"late": 2, "bad": 1, "lost": 3},
            [
                "stream default/s: 23 rows read; in no result: 2 late, "
                "1 bad (`weir query --bad` shows them), 3 deleted "
                "before they were read",
                "4 rows written",
            ],
        ),
        ({"batches": 5}, ["stream default/s: at least 20 rows read", "at least 4 rows written"]),
        ({"used": 0}, ["stream default/s: 0 rows read", "4 rows written"]),
    ],
)
def test_rows_are_counted_by_stream(tmp_path: Path, balance: dict[str, int], lines: list[str]) -> None:
    finished(tmp_path, f=stored(tmp_path, **balance))
    assert [*balances(tmp_path)["default/q"].lines()] == lines


def test_a_query_of_two_fragments_has_the_sources_of_both_and_the_rows_of_the_last(tmp_path: Path) -> None:
    last = {"sources": [], "written": 1, "complete": True}
    finished(tmp_path, f=stored(tmp_path), g=last)
    lines = [*balances(tmp_path)["default/q"].lines()]
    assert lines == ["stream default/s: 20 rows read", "1 row written"]


def test_a_fragment_that_an_earlier_version_has_finished_says_nothing(tmp_path: Path) -> None:
    finished(tmp_path, f=stored(tmp_path), g={})
    state = tmp_path / "g-state.json"
    state.write_text(json.dumps({"phase": "finished"}))
    assert balances(tmp_path) == {}


@pytest.mark.parametrize(
    ("balance", "failures"),
    [
        ({"used": 0, "bad": 3}, {"default/q": "no row of stream default/s could be read; bad: 3"}),
        ({"used": 0}, {}),
        ({"used": 1, "bad": 3}, {}),
        ({"used": 0, "bad": 3, "batches": 9}, {}),
    ],
)
def test_an_input_without_a_readable_row_is_a_failure(
    tmp_path: Path, balance: dict[str, int], failures: dict[str, str]
) -> None:
    finished(tmp_path, f=stored(tmp_path, **balance))
    assert unreadable(tmp_path) == failures
