"""The table of findings in docs/runtime.md names tests that are there."""

import re
from pathlib import Path

HERE = Path(__file__).parent
SOAK = HERE.parent / "soak"


def test_every_finding_is_guarded_by_a_test_that_exists() -> None:
    text = (HERE.parents[1] / "docs" / "runtime.md").read_text().split("## What Spark does")[1]
    there = {
        name
        for path in [*HERE.glob("test_*.py"), *SOAK.glob("test_*.py")]
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    named = [re.findall(r"`(test_\w+)`", line) for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(named) > 20
    assert all(named)
    assert {name for names in named for name in names} <= there
