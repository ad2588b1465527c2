"""Examples of `--help` work when they are pasted."""

from __future__ import annotations

import inspect
import shlex
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from weir_operator.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
ELSEWHERE = (
    "run",
    "query",
    "status",
    "approve",
    "rollback",
    "unpin",
    "snapshot",
    "bench",
    "calibrate",
    "init",
)
"""Commands whose examples need a run, a sample or long: tests/tutorial and tests/local have them."""
A_CLUSTER = ("kubectl", "kind-", "helm", "weir operator", "git worktree", "PATH", "weir explain by-")
DIFFERS = {"diff": 1}


def examples() -> list[tuple[str, str]]:
    """(command, line) of each example that needs nothing but the repository."""
    lines = []
    for name, place in COMMANDS.items():
        module, function = place.split(":")
        text = inspect.getdoc(getattr(import_module(module), function)) or ""
        lines += [(name, x.strip()) for x in text.splitlines() if x.startswith("  ") and "weir " in x]
    here = [(name, line) for name, line in lines if name not in ELSEWHERE]
    return [(name, x) for name, x in here if not any(word in x for word in A_CLUSTER) and "test" not in x]


@pytest.mark.parametrize(("name", "line"), examples(), ids=[line for _, line in examples()])
def test_an_example_does_what_its_command_says(name, line, tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "manifests.md", tmp_path / "docs")
    shutil.copytree(ROOT / "crds", tmp_path / "crds")
    monkeypatch.chdir(tmp_path)
    if name == "evaluate":
        assert main(["plan", "-f", "examples/flights", "-o", "json"]) == 0
        Path("plan.json").write_text(capsys.readouterr().out)
    words = shlex.split(line.partition(" > ")[0].replace("source <(", "").replace(")", ""), comments=True)
    assert words[0] == "weir"
    code = main(words[1:])
    assert code == DIFFERS.get(words[1], 0), capsys.readouterr().err


def test_most_commands_have_such_examples():
    assert {name for name, _ in examples()} >= {
        "plan",
        "evaluate",
        "strategies",
        "explain",
        "diff",
        "crds",
        "help",
    }
