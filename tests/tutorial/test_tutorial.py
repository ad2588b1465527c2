"""docs/tutorial.md does what it says, command by command, in one folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tutorial.steps import ROOT, differs, run, sections

SECTIONS = sections(ROOT / "docs" / "tutorial.md")
HERE = [section for section in SECTIONS if not section.needs]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tutorial")


@pytest.mark.parametrize("section", HERE, ids=lambda section: section.title)
def test_the_tutorial_on_this_machine(section: object, folder: Path) -> None:
    """Each goes on from the files of those before."""
    run(section, folder)  # type: ignore[arg-type]


def test_no_section_is_forgotten() -> None:
    assert {section.needs for section in SECTIONS} <= {"", "kafka", "cluster"}
    assert len(HERE) >= 6


@pytest.mark.parametrize(
    ("expected", "output", "wrong"),
    [
        ("a\nb", "a\nb\n", ""),
        ("a\n...\nd", "a\nb\nc\nd", ""),
        ("a...c\n...", "abc\nx\ny", ""),
        ("a", "a\nb", "nothing more, but there is b"),
        ("a\nb", "a\nc", "b"),
        ("...\nb", "a\nc", "b"),
        ("a.c", "abc", "a.c"),
        ("...", "", ""),
    ],
)
def test_outputs_are_compared_line_by_line(expected: str, output: str, wrong: str) -> None:
    assert differs(expected, output) == wrong
