"""The steps of a page: its sections with the files that it gives, the commands, and what they print."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
SKIP = "..."
"""In an output: any text; on a line of its own, any lines."""
MARK = "-- end of a step --"
AT_THE_END = "set -m; trap 'kill -INT $(jobs -p) 2>/dev/null || true; wait' EXIT"


@dataclass
class TutorialStep:
    """A fenced block of commands and, if the page shows it, the output. `needs`: the word of its title."""

    commands: str
    needs: str
    output: str | None = None


@dataclass(frozen=True)
class Section:
    """Files and steps below one heading, in order."""

    title: str
    parts: tuple[TutorialStep | tuple[str, str], ...]

    @property
    def needs(self) -> str:
        """What its commands need beside this machine."""
        return next((part.needs for part in self.parts if isinstance(part, TutorialStep) and part.needs), "")


def sections(page: Path) -> list[Section]:
    """Those with commands."""
    result = []
    for text in re.split(r"^## ", page.read_text(), flags=re.M)[1:]:
        title, _, body = text.partition("\n")
        parts: list[TutorialStep | tuple[str, str]] = []
        for fence in FENCE.finditer(body):
            language, _, rest = fence["info"].partition(" ")
            title_of = re.search(r'title="(needs )?([^"]+)"', rest)
            if language == "sh":
                parts.append(TutorialStep(fence["text"], title_of[2] if title_of else ""))
            elif title_of:
                parts.append((title_of[2], fence["text"]))
            elif language == "text" and isinstance(parts[-1], TutorialStep):
                parts[-1].output = fence["text"]
        if any(isinstance(part, TutorialStep) for part in parts):
            result.append(Section(title, tuple(parts)))
    return result


def differs(expected: str, output: str) -> str:
    """Empty when the output is as the page says, else the first line of the page that does not come."""
    lines, rest = [line.strip() for line in output.splitlines() if line.strip()], expected.splitlines()
    position, free = 0, False
    for line in filter(None, (line.strip() for line in rest)):
        if line == SKIP:
            free = True
            continue
        form = re.compile(".*".join(map(re.escape, line.split(SKIP))))
        later = range(position, len(lines) if free else min(position + 1, len(lines)))
        match = next((i for i in later if form.fullmatch(lines[i])), None)
        if match is None:
            return line
        position, free = match + 1, False
    return "" if free or position == len(lines) else f"nothing more, but there is {lines[position]}"


def run(section: Section, folder: Path, names: Mapping[str, str] = MappingProxyType({})) -> None:
    """All of a section, files and commands in one shell, which leaves no process behind.
    Fails with the commands, what they print, and what the page says. `names`: of the page -> of the test."""
    script = "".join(_script(part) for part in section.parts)
    for name, here in names.items():
        script = script.replace(name, here)
    process = subprocess.run(
        ["bash", "-e", "-u", "-o", "pipefail", "-c", f"{AT_THE_END}\n{script}"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=400,
        # A shell of a background job ignores it, and hands that down: `kill -INT %1` would do nothing.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    logs = "".join(f"\n{log}:\n{log.read_text()[-2000:]}" for log in folder.glob("run.log"))
    shown = f"{script}\nprinted:\n{process.stdout}\n{process.stderr[-3000:]}{logs}"
    assert process.returncode == 0, f"exit code {process.returncode} of\n{shown}"
    steps = [part for part in section.parts if isinstance(part, TutorialStep)]
    for step, output in zip(steps, process.stdout.split(f"{MARK}\n"), strict=False):
        wrong = differs(step.output, output) if step.output is not None else ""
        assert not wrong, f"the page says:\n  {wrong}\nand\n{shown}"


def _script(part: TutorialStep | tuple[str, str]) -> str:
    if isinstance(part, TutorialStep):
        return f"{part.commands}\necho '{MARK}'\n"
    name, text = part
    return f"mkdir -p \"$(dirname {name})\"\ncat > {name} <<'{MARK}'\n{text}{MARK}\n"


def environment() -> dict[str, str]:
    """With `weir` and `python` of these tests on the PATH, and the code of this tree."""
    rooms = [str(ROOT / room) for room in ("placement", "runtime", "operator")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": os.pathsep.join(rooms),
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }
