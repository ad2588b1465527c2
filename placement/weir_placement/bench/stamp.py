"""How each page was made: command, commit and the generator's code, so that no old page comes back unseen.

The records of a folder's pages are in its `pages.json`. `python -m weir_placement.bench.stamp FOLDER` prints
the commands of pages that are to be made again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from weir_placement.bench.machine import commit

RECORDS = "pages.json"
PARTS = (".md", ".csv", ".png")
StampRecord = Mapping[str, Any]


def stamp(folder: Path, name: str, command: str, generator: str) -> None:
    """Appends to a page what made it, and records that and the digests of its files.

    Args:
        folder: where `<name>.md` and what belongs to it were written.
        command: as one would type it.
        generator: the module whose code and data files the page rests on, besides the planner's.
    """
    page = folder / f"{name}.md"
    revision = commit()
    page.write_text(f"{page.read_text().rstrip()}\n\nMade by `{command}` at commit {revision}.\n")
    record = {
        "command": command,
        "commit": revision,
        "generator": generator,
        "digest": generator_digest(generator),
        "files": _files(folder, name),
    }
    write_records(folder, {**read_records(folder), name: record})


def read_records(folder: Path) -> dict[str, StampRecord]:
    """By page."""
    file = folder / RECORDS
    return json.loads(file.read_text()) if file.exists() else {}


def write_records(folder: Path, records: Mapping[str, StampRecord]) -> None:
    """Replaces all of them."""
    (folder / RECORDS).write_text(json.dumps(records, indent=2, sort_keys=True) + "\n")


def misfits(folder: Path) -> Iterator[tuple[str, str]]:
    """Pages whose files, generator or record do not fit one another, and why.

    A record's `outdated` says why a page is to be made again and stands as it is: it must be on the page.
    Pages beside a `.jsonl` are not looked at: each line there names its commit.
    """
    records = read_records(folder)
    pages = {page.stem for page in folder.glob("*.md") if not page.with_suffix(".jsonl").exists()}
    for name in sorted(pages | set(records)):
        if name not in pages or name not in records:
            yield name, f"{name}.md has no record in {RECORDS}" if name in pages else f"there is no {name}.md"
            continue
        record, text = records[name], (folder / f"{name}.md").read_text()
        if record["files"] != _files(folder, name):
            yield name, f"its files are not those that `{record['command']}` wrote"
        elif f"`{record['command']}`" not in text or record["commit"] not in text:
            yield name, f"{name}.md does not say its command and commit, as {RECORDS} does"
        elif "outdated" in record:
            if record["outdated"] not in text:
                yield name, f"{name}.md does not say that it is outdated: {record['outdated']}"
        elif record["digest"] != generator_digest(record["generator"]):
            yield name, f"{record['generator']} has changed since; run `{record['command']}`"


def generator_digest(module: str) -> str:
    """Of a module's code without docstrings and comments, and of the data files beside it that it names."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        return "no such module"
    source = Path(spec.origin)
    tree = ast.parse(source.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    digest = hashlib.sha256(ast.dump(tree).encode())
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    for name in sorted({text for text in texts if isinstance(text, str) and 0 < len(text) < 100}):
        file = source.parent / name
        if "." in name and "/" not in name and file.is_file() and file.suffix != ".py":
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _files(folder: Path, name: str) -> dict[str, str]:
    """Digests of a page's files."""
    files = [folder / f"{name}{part}" for part in PARTS]
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest()[:16] for f in files if f.exists()}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    again = [name for name, record in read_records(place).items() if "outdated" in record]
    again += [name for name, _ in misfits(place)]
    commands = {str(read_records(place).get(name, {}).get("command", name)) for name in again}
    print("\n".join(sorted(commands)))
