"""Every point at which a process may be killed is one at which a test kills."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from weir_runtime import faults

TESTS = Path(__file__).parents[1]


def killed_at(code: ast.AST) -> Iterator[str]:
    """Points that a test names as VARIABLE's value or to `kill`, or whose group it goes through."""
    for node in ast.walk(code):
        if isinstance(node, ast.For) and "VARIABLE" in names(node):
            yield from (point for group in names(node.iter) for point in getattr(faults, group, ()))
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            yield from (
                text for key, value in pairs if key and "VARIABLE" in names(key) for text in texts(value)
            )
        if isinstance(node, ast.Call) and "kill" in names(node.func):
            yield from (text for argument in node.args for text in texts(argument))


def names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def texts(node: ast.AST) -> list[str]:
    constants = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
    return [value.partition(":")[0] for value in constants if isinstance(value, str)]


def test_what_the_code_reaches_is_listed_once() -> None:
    code = [path.read_text() for path in Path(faults.__file__).parent.rglob("*.py")]
    reached = {point for text in code for point in re.findall(r"\breach\(\"(.*?)\"\)", text)}
    assert Counter(faults.POINTS) == Counter(reached)


def test_a_test_kills_at_each_point() -> None:
    killed = {point for path in TESTS.rglob("*.py") for point in killed_at(ast.parse(path.read_text()))}
    assert killed >= set(faults.POINTS)
