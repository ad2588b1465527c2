"""From files, folders and standard input to raw objects that know their lines."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import yaml

from weir_operator.api.base import GROUP
from weir_operator.api.kinds import MODELS
from weir_operator.manifests.finding import Finding

SUFFIXES = (".yaml", ".yml", ".json")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PATH_PART = re.compile(r"[^.\[\]]+")
_MAX_ALIASED = 10_000
_MERGE, _DATE = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:timestamp"


@dataclass(frozen=True)
class Document:
    """One object of a file."""

    raw: Mapping[str, Any]
    file: str
    node: Any  # the YAML node, from which a field's line is found

    def line(self, path: str = "") -> int:
        """Line of a field (`spec.operators[2].on`), or of its nearest parent that exists."""
        node = self.node
        line: int = node.start_mark.line + 1
        for part in _PATH_PART.findall(path):
            if isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
                node = node.value[int(part)]
                line = node.start_mark.line + 1
                continue
            if not isinstance(node, yaml.MappingNode):
                break
            entry = next(((k, v) for k, v in node.value if k.value == part), None)
            if entry is None:
                break
            line, node = entry[0].start_mark.line + 1, entry[1]
        return line


def read(paths: Iterable[str], stdin: TextIO | None = None) -> tuple[list[Document], list[Finding]]:
    """Every object below `paths` (files, folders, `-`) and what could not be read.

    A `kind: List` counts as its items. As with kubectl, only the files of a folder are read, not its
    subfolders. Objects of other API groups (a Namespace, a Job) are skipped.
    """
    documents: list[Document] = []
    findings: list[Finding] = []
    for path in paths:
        if path == "-":
            text = (stdin or sys.stdin).read()
            documents += _documents(text, "<stdin>", findings)
            continue
        target = Path(path)
        if not target.exists():
            findings.append(Finding(None, "", "no such file or folder", "", file=path))
            continue
        for file in sorted(_files_of(target)) if target.is_dir() else [target]:
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                findings.append(Finding(None, "", f"cannot be read: {error}", "", file=str(file)))
                continue
            documents += _documents(text, str(file), findings)
    return documents, findings


def _files_of(folder: Path) -> Iterator[Path]:
    for file in folder.iterdir():
        if file.suffix in SUFFIXES and file.is_file() and not file.name.startswith("."):
            yield file


def _documents(text: str, file: str, findings: list[Finding]) -> Iterator[Document]:
    """Documents of one text, up to the first syntax error."""
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            yield from _objects(node, _ValueBuilder(loader).build(node), file, findings)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        where = mark.line + 1 if mark else 0
        findings.append(Finding(None, "", f"is not YAML: {problem}", "", file=file, line=where))
    finally:
        loader.dispose()


@dataclass
class _ValueBuilder:
    """Plain values of a YAML node. Keys stay as they are written (`on` is a name here, not true), and so
    do dates; duplicate keys, and aliases that make a small file huge, are refused."""

    loader: Any
    open: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    aliased: int = 0

    def build(self, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return node.value if node.tag == _DATE else self.loader.construct_object(node)
        if id(node) in self.open:
            raise _refused("an alias contains itself", node)
        self.aliased += id(node) in self.closed
        if self.aliased > _MAX_ALIASED:
            raise _refused("too many aliases", node)
        self.open.add(id(node))
        value = (
            self._mapping(node) if isinstance(node, yaml.MappingNode) else list(map(self.build, node.value))
        )
        self.open.discard(id(node))
        self.closed.add(id(node))
        return value

    def _mapping(self, node: Any) -> dict[str, Any]:
        names = [name.value for name, _ in node.value if name.tag != _MERGE]
        for i, (name, _) in enumerate(node.value):
            if not isinstance(name, yaml.ScalarNode):
                raise _refused("a field's name must be text", name)
            if name.tag != _MERGE and name.value in names[:i]:
                raise _refused(f"field {name.value} is written twice", name)
        self.loader.flatten_mapping(node)
        return {name.value: self.build(value) for name, value in node.value}


def _refused(problem: str, node: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _objects(node: Any, raw: Any, file: str, findings: list[Finding]) -> Iterator[Document]:
    if raw is None:
        return
    if not isinstance(raw, dict):
        line = node.start_mark.line + 1
        right = "write objects with apiVersion, kind, metadata and spec"
        findings.append(
            Finding(
                None, "", f"{json.dumps(raw, default=str)[:40]} is not an object", right, file=file, line=line
            )
        )
    elif isinstance(raw.get("items"), list) and str(raw.get("kind", "")).endswith("List"):
        items = next(value for name, value in node.value if name.value == "items")
        for child, item in zip(items.value, raw["items"], strict=True):
            yield from _objects(child, item, file, findings)
    elif not _foreign(raw):
        yield Document(raw, file, node)


def _foreign(raw: Mapping[str, Any]) -> bool:
    """Whether it is an object of another API group, and not of a kind that Weir reads."""
    group = str(raw.get("apiVersion", "")).partition("/")[0]
    return (
        bool(group) and group != GROUP and raw.get("kind") not in {"ConfigMap", *(kind for _, kind in MODELS)}
    )
