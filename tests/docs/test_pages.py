"""Pages of benchmarks say what made them, and fit it: an old one that comes back, by a merge, is seen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from weir_placement.bench import stamp
from weir_placement.bench.page import write

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "benchmarks"


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_page_fits_its_record() -> None:
    assert not [f"{name}: {why}" for name, why in stamp.misfits(PAGES)]


def test_commits_of_pages_are_in_the_history() -> None:
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return  # there is no history to look into
    for name, record in stamp.read_records(PAGES).items():
        assert git("merge-base", "--is-ancestor", record["commit"], "HEAD").returncode == 0, name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "p", "Title", "Text.", ["a"], [[1]])
    stamp.stamp(tmp_path, "p", "weir bench p", "weir_placement.bench.page")
    return tmp_path


def test_a_page_that_was_just_made_fits(folder: Path) -> None:
    assert list(stamp.misfits(folder)) == []
    assert "Made by `weir bench p` at commit " in (folder / "p.md").read_text()


def test_an_older_table_is_seen(folder: Path) -> None:
    (folder / "p.csv").write_text("a\n2\n")
    assert [name for name, _ in stamp.misfits(folder)] == ["p"]


def test_a_page_without_a_record_is_seen(folder: Path) -> None:
    (folder / "q.md").write_text("# Q\n")
    assert [name for name, _ in stamp.misfits(folder)] == ["q"]


def test_a_generator_that_has_changed_is_seen_unless_the_page_says_so(folder: Path) -> None:
    records = stamp.read_records(folder)
    changed = {**records["p"], "digest": "0" * 16}
    stamp.write_records(folder, {"p": changed})
    assert [why for _, why in stamp.misfits(folder)] == [
        "weir_placement.bench.page has changed since; run `weir bench p`"
    ]
    stamp.write_records(folder, {"p": {**changed, "outdated": "measured before larger caps"}})
    assert "does not say that it is outdated" in next(why for _, why in stamp.misfits(folder))


def test_a_docstring_is_no_change_of_a_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "generator_of_a_page.py"
    digests = []
    for text in ('"""One."""\nX = 1\n', '"""Two."""\n\nX = 1  # why\n', '"""Two."""\nX = 2\n'):
        file.write_text(text)
        digests.append(stamp.generator_digest("generator_of_a_page"))
    assert digests[0] == digests[1] != digests[2]


def test_data_that_a_generator_reads_belongs_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "generator_with_data.py").write_text('DATA = "rows.csv"\n')
    digests = []
    for rows in ("1\n", "2\n"):
        (tmp_path / "rows.csv").write_text(rows)
        digests.append(stamp.generator_digest("generator_with_data"))
    assert digests[0] != digests[1]


def test_records_are_sorted_so_that_merges_show_what_changed() -> None:
    text = (PAGES / stamp.RECORDS).read_text()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"
