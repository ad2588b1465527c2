"""`make fuzz` tries other cases every round, and the same ones again when it is given their seed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

DRAWS = """
from hypothesis import given, settings
from tests.runtime.fragment_cases import cases

@settings(max_examples=5, database=None)
@given(cases())
def test_draws(case):
    print(case)
"""


def rounds(*settings: str) -> list[str]:
    """The seeds that the tests are given."""
    command = ["make", "-s", "-o", "env", "fuzz", "ROUNDS=3", "PY=echo", *settings]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    seeds = re.findall(r"--hypothesis-seed=(\d+) ", output)
    assert [f"SEED={seed}" for seed in seeds] == re.findall(r"SEED=\d+", output), "each is printed"
    return seeds


def drawn(folder: Path, *options: str) -> str:
    """The cases that hypothesis tries."""
    file = folder / "test_draws.py"
    file.write_text(DRAWS)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "tests.conftest", str(file), *options]
    same_order_of_sets = {**os.environ, "PYTHONHASHSEED": "0"}
    process = subprocess.run(
        command, cwd=ROOT, env=same_order_of_sets, check=True, stdout=subprocess.PIPE, text=True
    )
    return "".join(line for line in process.stdout.splitlines() if line.startswith("FragmentCase("))


def test_each_round_has_a_seed_of_its_own_which_is_printed() -> None:
    assert len(set(rounds())) == 3
    assert rounds("SEED=7") == ["7"] * 3


def test_a_seed_decides_what_is_drawn(tmp_path: Path) -> None:
    fuzz = "--hypothesis-profile=fuzz"
    once = drawn(tmp_path, fuzz, "--hypothesis-seed=1")
    assert once.count("FragmentCase(") == 5
    assert once == drawn(tmp_path, fuzz, "--hypothesis-seed=1")
    assert once != drawn(tmp_path, fuzz, "--hypothesis-seed=2")


def test_no_test_takes_itself_out_of_the_fuzz() -> None:
    """A test's own `derandomize` would outdo the profile's."""
    word = "derandomize" + "="
    files = [path for path in (ROOT / "tests").rglob("*.py") if word in path.read_text()]
    assert [path.relative_to(ROOT).as_posix() for path in files] == ["tests/conftest.py"]
