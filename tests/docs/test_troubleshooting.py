"""Every message that docs/troubleshooting.md explains is one that Weir gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
CODE = "\n".join(
    re.sub(r'"\s*\n\s*f?"', "", path.read_text())  # texts that go over several lines
    for room in ("placement", "runtime", "operator")
    for path in sorted((ROOT / room).rglob("*.py"))
)
QUOTED = r"`(?:[^`]|`weir \w+`)+`"
MESSAGES = [
    message[1:-1]
    for cell in re.findall(r"^\| ([^|]*`[^|]*) \|", PAGE, re.M)
    for message in re.findall(QUOTED, cell)
]


@pytest.mark.parametrize("message", MESSAGES)
def test_weir_gives_the_message(message: str) -> None:
    assert message in CODE


def test_messages_are_found() -> None:
    assert len(MESSAGES) >= 15
