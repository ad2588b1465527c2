"""A query runs wherever a file system lets it: folders may have blanks, signs and letters of any language."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.queries import cut, verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.sessions import Run
from tests.runtime.support import append_batch, source


@pytest.mark.parametrize("name", ["50%25 off", "naïve-größe", "x#y?z", "[1]{2}*"])
def test_a_query_runs_in_a_folder_of_any_name(run: Run, tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    for number in range(4):
        append_batch(root / "a", number, rows(number))
    (root / "a" / "END").touch()
    link = tmp_path / "sink"
    (tmp_path / "elsewhere").mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    (root / "out").symlink_to(link)
    items = [source("a", root / "a")]
    for spec in cut(root, items, [COUNT], COLUMNS):
        run(spec)
    assert [path.name for path in tmp_path.iterdir() if path.name not in (name, "sink", "elsewhere")] == []
    result = verdict(root, items, [COUNT], COLUMNS)
    assert result.good, f"{result} {result.examples}"
