"""Mistakes that people make, and what `weir` answers: exit code, file, place, value and what would be right.

The tables: `files.py` (what cannot be read), `manifests.yaml`, `sql.yaml`, `command_lines.yaml`.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from weir_operator.cli import main

from tests.mistakes.files import FILES
from tests.mistakes.mistake import PLAN, SCENE, Mistake, table

TABLES = {name: table(f"{name}.yaml") for name in ("manifests", "sql", "command_lines")} | {"files": FILES}
ALL = [(f"{name}: {mistake.name}", mistake) for name, rows in TABLES.items() for mistake in rows]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the scene, in which the commands run; there is no cluster."""
    shutil.copytree(SCENE, tmp_path / "scene")
    monkeypatch.chdir(tmp_path / "scene")
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", "nowhere")
    return tmp_path / "scene"


def test_without_a_mistake_all_is_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(PLAN)) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("mistake", [pytest.param(mistake, id=name) for name, mistake in ALL])
def test_the_answer_names_place_value_and_what_would_be_right(
    mistake: Mistake, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mistake.make(folder)
    code = main(shlex.split(mistake.command))
    assert tuple(capsys.readouterr().err.splitlines()) == mistake.answer
    assert code == mistake.code


def test_no_mistake_is_in_the_tables_twice() -> None:
    assert len({name for name, _ in ALL}) == len(ALL)
