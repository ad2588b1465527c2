"""One mistake: what is done to a scene of good manifests, and what the command answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

SCENE = Path(__file__).parent / "scene"
PLAN = "plan -f ."


@dataclass(frozen=True)
class Mistake:
    """
    Attributes:
        name: what was done wrong.
        answer: the lines on standard error, whole, in order.
        file: of the scene, in which `right` becomes `wrong`; a new file where the scene has none.
        right: a text of that file; "" for a new one.
        wrong: what is there instead.
        also: anything else that is done in the folder.
        command: what is run in the folder, after `weir`.
        code: its exit code.
    """

    name: str
    answer: tuple[str, ...]
    file: str = ""
    right: str = ""
    wrong: str = ""
    also: Callable[[Path], object] = field(default=lambda folder: None)
    command: str = PLAN
    code: int = 2

    def make(self, folder: Path) -> None:
        """Makes the mistake in a copy of the scene."""
        if self.file:
            path = folder / self.file
            text = path.read_text(encoding="utf-8") if self.right else ""
            assert self.right in text
            path.write_text(text.replace(self.right, self.wrong, 1) if self.right else self.wrong)
        self.also(folder)


def table(name: str) -> tuple[Mistake, ...]:
    """The mistakes of a file beside this one; `answer` may be one line."""
    rows = yaml.safe_load((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return tuple(Mistake(**{**row, "answer": tuple(_lines(row["answer"]))}) for row in rows)


def _lines(answer: str | list[str]) -> list[str]:
    return [answer] if isinstance(answer, str) else answer
