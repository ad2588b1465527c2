"""The house keeps its rules: files are short, a type's name has one meaning, a variable names a thing."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACKED = [
    ROOT / line
    for line in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
    if line
]
CODE = [path for path in TRACKED if path.suffix == ".py" and path.exists()]


@pytest.mark.parametrize("room", ["placement", "runtime", "operator"])
def test_files_hold_one_idea_each(room: str) -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for p in CODE
        if p.is_relative_to(ROOT / room) and (n := len(p.read_text().splitlines())) > 400
    }
    assert not long, f"files over 400 lines (300 is the habit): {long}"


def test_functions_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{item.lineno}: {item.name}"
        for path in CODE
        if path.relative_to(ROOT).parts[0] in ("placement", "runtime", "operator")
        for item in ast.walk(ast.parse(path.read_text()))
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
        and item.end_lineno is not None
        and item.end_lineno - item.lineno >= 80
    ]
    assert not long, f"functions over 80 lines: {long}"


TWO_FORMS = {
    "Stream": "the kind as a manifest has it, and what the planner knows of it",
    "Node": "Kubernetes' own object, and what the planner knows of it",
}
"""Names of classes that `api` and `model` share, as docs/architecture.md says, and why."""

GENERATORS = {"joined_rates.py"}
"""Benches whose page stands as long as their code does: an alias there has its name until the next page."""


def _types_named(tree: ast.Module) -> list[str]:
    """Classes, and what a module calls a type: aliases (in CapWords) and type variables."""
    names = [item.name for item in ast.walk(tree) if isinstance(item, ast.ClassDef)]
    for item in tree.body:
        targets = item.targets if isinstance(item, ast.Assign) else []
        targets = [item.target] if isinstance(item, ast.AnnAssign) else targets
        call = item.value.func if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call) else None
        variable = isinstance(call, ast.Name) and call.id == "TypeVar"
        names += [
            target.id
            for target in targets
            if isinstance(target, ast.Name)
            and (variable or (target.id[0].isupper() and not target.id.isupper()))
        ]
    return names


def test_the_name_of_a_type_means_one_thing() -> None:
    files = defaultdict(list)
    for path in CODE:
        package = path.relative_to(ROOT).parts[0] in ("placement", "runtime", "operator")
        if package and path.name not in GENERATORS:
            for name in _types_named(ast.parse(path.read_text())):
                files[name].append(path.relative_to(ROOT))
    repeated = {name: places for name, places in files.items() if len(places) > 1}
    assert repeated.keys() == TWO_FORMS.keys(), f"give each its own name: {repeated}"
    for places in repeated.values():
        assert sorted(place.parent.name for place in places) == ["api", "model"]


def test_a_helpers_class_has_a_name_of_its_own() -> None:
    names: dict[bool, list[str]] = {True: [], False: []}
    for path in CODE:
        package = path.relative_to(ROOT).parts[0] in ("placement", "runtime", "operator")
        names[package] += [
            item.name for item in ast.walk(ast.parse(path.read_text())) if isinstance(item, ast.ClassDef)
        ]
    assert len(names[False]) == len({*names[False]})
    assert {*names[False]} & {*names[True]} == {"Topic"}, "the page of the sinks' bench stands on tests/kafka"


ACTS = {"asked", "begun", "found", "got", "heard", "held", "known", "made", "noted", "said", "told"}
"""What was done to a thing, and not what it is."""


def _variables(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines and names of what is assigned to, and of arguments. Fields of classes may be in stored forms."""
    fields = {
        id(item.target)
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for item in owner.body
        if isinstance(item, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            yield node.lineno, node.id


def test_a_variable_names_the_thing() -> None:
    acts = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in CODE
        for line, name in _variables(ast.parse(path.read_text()))
        if name in ACTS
    ]
    assert not acts, f"name what it is: {sorted(set(acts))}"


def test_the_operator_folder_does_not_shadow_the_standard_library() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_the_lock_holds_hashes_and_no_address() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links", lock)
    pins = re.findall(r"^[a-z0-9][\w.\[\]-]*==\S+ \\$", lock, re.M)
    assert len(pins) > 50
    assert lock.count("--hash=sha256:") >= len(pins)


def test_subjects_of_commits_fit_a_line() -> None:
    """Of those after the rule was made; in a clone without history of the last one alone."""
    before = "98f0272"
    process = subprocess.run(["git", "cat-file", "-e", f"{before}^{{commit}}"], cwd=ROOT, capture_output=True)
    commits = [f"{before}..HEAD"] if process.returncode == 0 else ["-1"]
    log = subprocess.check_output(["git", "log", "--format=%h %s", *commits], cwd=ROOT, text=True)
    long = [line for line in log.splitlines() if len(line.split(" ", 1)[1]) > 72]
    assert not long, f"subjects over 72 letters: {long}"
