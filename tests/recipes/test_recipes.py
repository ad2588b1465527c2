"""Each recipe of CONTRIBUTING.md is carried out as written: its patch applies, passes its check, stays small.

A recipe is `docs/recipes/NAME.patch`: words, a line `check: python -m pytest -q TESTS`, then the diff.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "recipes"
RUFF = (sys.executable, "-m", "ruff")
ARROWS = (str(Path(sys.executable).with_name("lint-imports")),)
TYPES = (sys.executable, "-m", "mypy", "--strict", "placement", "runtime", "operator", "tests")
GENERATED = ("crds/", "charts/weir/files/crds/")
MOST_FILES = {
    "crd-field": 4,
    "exchange": 6,
    "objective": 5,
    "operator-kind": 9,
    "search-strategy": 3,
    "source": 4,
}
"""Files that a recipe may touch, generated ones apart: what keeps a seam narrow."""
RECIPES = sorted(MOST_FILES)
SECONDS = 240


def words(name: str) -> str:
    """What stands before a recipe's diff."""
    assert (FOLDER / f"{name}.patch").is_file(), f"there is no recipe docs/recipes/{name}.patch"
    return (FOLDER / f"{name}.patch").read_text().partition("\ndiff --git ")[0]


def check_of(name: str) -> list[str]:
    """The recipe's check, with this interpreter."""
    lines = re.findall(r"^check: python -m pytest -q (.+)$", words(name), re.M)
    assert len(lines) == 1, f"docs/recipes/{name}.patch needs one line 'check: python -m pytest -q TESTS'"
    return [sys.executable, "-m", "pytest", "-q", *lines[0].split()]


def touched(name: str) -> list[str]:
    """The files that a recipe's diff touches, generated ones apart."""
    diff = (FOLDER / f"{name}.patch").read_text()
    files = re.findall(r"^diff --git a/\S+ b/(\S+)$", diff, re.M)
    return [file for file in files if not file.startswith(GENERATED)]


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command on a copy's code, not on what is installed."""
    rooms = os.pathsep.join(str(folder / room) for room in ("placement", "runtime", "operator", "."))
    environment = {**os.environ, "PYTHONPATH": rooms}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS
    )


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One for all copies, begun with what `make lint` has left: each costs what its recipe changes."""
    cache = tmp_path_factory.mktemp("mypy")
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", cache, dirs_exist_ok=True)
    return str(cache)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The tracked files as they are now, in a repository of their own."""
    for line in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        if (ROOT / line).is_file():
            (tmp_path / line).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / line, tmp_path / line)
    for command in (["git", "init", "--quiet"], ["git", "add", "--all"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def test_every_recipe_is_known_here() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_applies_and_passes_its_check(name: str, copy: Path, mypy_cache: str) -> None:
    applied = run(["git", "apply", "--index", str(FOLDER / f"{name}.patch")], copy)
    assert applied.returncode == 0, (
        f"recipe {name} no longer applies: regenerate docs/recipes/{name}.patch with `hack/recipe {name}`\n"
        f"{applied.stderr}"
    )
    python = [file for file in touched(name) if file.endswith(".py") and (copy / file).exists()]
    lint = ([*RUFF, "check", *python], [*RUFF, "format", "--check", *python], ARROWS)
    for command in (*lint, [*TYPES, "--cache-dir", mypy_cache], check_of(name)):
        process = run(command, copy)
        assert process.returncode == 0, (
            f"recipe {name}: {' '.join(command)} fails: mend it with `hack/recipe {name}`\n"
            f"{process.stdout[-4000:]}{process.stderr[-2000:]}"
        )


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_touches_few_files(name: str) -> None:
    files = touched(name)
    assert len(files) <= MOST_FILES[name], f"recipe {name} touches {len(files)} files: {files}"


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_is_explained_and_named_by_contributing(name: str) -> None:
    assert len(words(name).split()) > 20, f"docs/recipes/{name}.patch says nothing before its diff"
    link = f"(docs/recipes/{name}.patch)"
    assert link in (ROOT / "CONTRIBUTING.md").read_text(), f"CONTRIBUTING.md does not name {link}"
