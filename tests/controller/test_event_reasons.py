"""Reasons of Events are stable: those that the operator gives are those that docs/kubernetes.md lists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def given() -> set[tuple[str, str]]:
    """(reason, type) of each `Event(...)` and `add_event(...)` of the operator, of each `Wait(...)`, and of
    each query that is Stalled by `Health.failed(...)`."""
    reasons = set()
    for file in (ROOT / "operator" / "weir_operator").rglob("*.py"):
        for call in (n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if (
                name in ("Event", "add_event")
                and len(call.args) >= 3
                and isinstance(call.args[1], ast.Constant)
            ):
                warns = any(k.arg == "warning" for k in call.keywords)
                reasons.add((str(call.args[1].value), "Warning" if warns else "Normal"))
            if name == "Wait" and isinstance(call.args[0], ast.Constant):
                warns = any(k.arg == "warning" for k in call.keywords)
                reasons.add((str(call.args[0].value), "Warning" if warns else "Normal"))
            if name == "failed" and call.args and isinstance(call.args[0], ast.Constant):
                reasons.add((str(call.args[0].value), "Warning"))
    return reasons


def test_the_documentation_lists_the_reasons_that_are_given() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \| (Normal|Warning) \|", page, re.M)) == given()
