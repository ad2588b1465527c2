"""From files, folders and standard input to raw objects that know their lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

import yaml
from weir_placement.model.suggestion import near

from weir_operator.api.base import GROUP
from weir_operator.api.kinds import MODELS
from weir_operator.manifests.finding import Finding, shown
from weir_operator.manifests.places import place_in_file
from weir_operator.manifests.texts import texts
from weir_operator.manifests.yaml_errors import syntax_finding

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PATH_PART = re.compile(r"[^.\[\]]+")
_MAX_ALIASED = 10_000
MOST_DEPTH = 100
_BRACKET = re.compile(r"[\[\]{}]")
_INDENTED = re.compile(rf"^[-? ]{{{MOST_DEPTH},}}", re.MULTILINE)
_EIGHT, _SIXTY = re.compile(r"[-+]?0[0-9_]+"), re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_CORE = [kind for version, kind in MODELS if version == "v1"]
_MERGE, _DATE = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:timestamp"


@dataclass(frozen=True)
class Document:
    """One object of a file."""

    raw: Mapping[str, Any]
    file: str
    node: Any  # the YAML node, from which a field's line is found
    text: str = ""  # of the file

    def line(self, path: str = "") -> int:
        """Line of a field (`spec.operators[2].on`), or of its nearest parent that exists."""
        return self._field(path)[0]

    def place(self, path: str, within: tuple[int, int] | None = None) -> tuple[int, int]:
        """Line and column (0: not known) of a place `within` a field's text, or the line of the field."""
        line, node = self._field(path)
        inside = (
            place_in_file(self.text, node, within) if within and isinstance(node, yaml.ScalarNode) else None
        )
        return inside or (line, 0)

    def _field(self, path: str) -> tuple[int, Any]:
        """A field's line and node; None for the node of a field that is not there."""
        node = self.node
        line: int = node.start_mark.line + 1
        for part in _PATH_PART.findall(path):
            if isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
                node = node.value[int(part)]
                line = node.start_mark.line + 1
                continue
            pairs = node.value if isinstance(node, yaml.MappingNode) else ()
            entry = next(((k, v) for k, v in pairs if k.value == part), None)
            if entry is None:
                return line, None
            line, node = entry[0].start_mark.line + 1, entry[1]
        return line, node


def read(
    paths: Iterable[str], stdin: TextIO | None = None, group: str = GROUP
) -> tuple[list[Document], list[Finding]]:
    """Every object below `paths` (files, folders, `-`) and what could not be read.

    A `kind: List` counts as its items. As with kubectl, only the files of a folder are read, not its
    subfolders. Objects of other API groups than `group` (a Namespace, a Job) are skipped.
    """
    documents: list[Document] = []
    findings: list[Finding] = []
    for file, text in texts(paths, findings, stdin):
        documents += [d for d in _documents(text, file, findings) if not _foreign(d.raw, group)]
    return documents, findings


def _documents(text: str, file: str, findings: list[Finding]) -> Iterator[Document]:
    """Documents of one text, up to the first syntax error."""
    loader = None
    try:
        _check_depth(text)
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            yield from _objects(node, _ValueBuilder(loader).build(node), file, text, findings)
    except yaml.YAMLError as error:
        findings.append(syntax_finding(error, text, file))
    finally:
        if loader is not None:
            loader.dispose()


def _check_depth(text: str) -> None:
    """Raises YAMLError for a text that is nested too deeply: the parser, in C, would end the process.

    Events cost as much as parsing, so they are looked at only where brackets or indentation could go so deep.
    """
    depth = most = 0
    for bracket in _BRACKET.finditer(text):
        depth = max(0, depth + (1 if bracket[0] in "[{" else -1))
        most = max(most, depth)
    if most <= MOST_DEPTH and not _INDENTED.search(text):
        return
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise _refused(f"nested more than {MOST_DEPTH} deep; no object needs that", event)


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
            return self._scalar(node)
        if id(node) in self.open:
            raise _refused("an alias contains itself; write its value", node)
        self.aliased += id(node) in self.closed
        if self.aliased > _MAX_ALIASED:
            raise _refused(f"aliases stand for more than {_MAX_ALIASED} values; write fewer of them", node)
        self.open.add(id(node))
        value = (
            self._mapping(node) if isinstance(node, yaml.MappingNode) else list(map(self.build, node.value))
        )
        self.open.discard(id(node))
        self.closed.add(id(node))
        return value

    def _scalar(self, node: Any) -> Any:
        try:
            value = node.value if node.tag == _DATE else self.loader.construct_object(node)
        except ValueError:
            kind = node.tag.rpartition(":")[2]
            raise _refused(f"{json.dumps(node.value)} is not of the type !!{kind}", node) from None
        if isinstance(value, int | float):
            self._check_base(node, value)
        return value

    @staticmethod
    def _check_base(node: Any, value: float) -> None:
        """Refuses numbers to the bases of 8 and 60, which only YAML 1.1 knows and hardly anybody means."""
        if _EIGHT.fullmatch(node.value) and value:
            plain = node.value.lstrip("+-0")
            wrong = f"{node.value} is {value} in YAML 1.1 and {plain} in 1.2"
            raise _refused(f"{wrong}; write {plain} or {value}", node)
        if _SIXTY.fullmatch(node.value):
            wrong = f"{node.value} is {value} in YAML 1.1 and a text in 1.2"
            raise _refused(f"{wrong}; quote the text, or write {value}", node)

    def _mapping(self, node: Any) -> dict[str, Any]:
        names: set[str] = set()
        for name, _ in node.value:
            if not isinstance(name, yaml.ScalarNode):
                raise _refused("a list or mapping as a field's name; write a text", name)
            if name.value.startswith("\u00a0"):
                raise _refused("a no-break space (U+00A0) in the indentation; indent with plain spaces", name)
            if name.tag != _MERGE and name.value in names:
                apart = ", or write --- between two objects" if name.value == "apiVersion" else ""
                raise _refused(f"field {name.value} is written twice; keep one{apart}", name)
            names.add(name.value)
        self.loader.flatten_mapping(node)
        return {name.value: self.build(value) for name, value in node.value}


def _refused(problem: str, node: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _objects(node: Any, raw: Any, file: str, text: str, findings: list[Finding]) -> Iterator[Document]:
    if raw is None:
        return
    if not isinstance(raw, dict):
        line = node.start_mark.line + 1
        right = "write objects with apiVersion, kind, metadata and spec"
        if isinstance(raw, list):
            right += ", several as the `items` of a `kind: List`"
        findings.append(Finding(None, "", f"{shown(raw)} is not an object", right, file=file, line=line))
    elif isinstance(raw.get("items"), list) and str(raw.get("kind", "")).endswith("List"):
        items = next(value for name, value in node.value if name.value == "items")
        for child, item in zip(items.value, raw["items"], strict=True):
            yield from _objects(child, item, file, text, findings)
    else:
        yield Document(raw, file, node, text)


def _foreign(raw: Mapping[str, Any], group: str) -> bool:
    """Whether it is an object of another API group than `group`, and not of a kind that Weir reads, also
    where that is mistyped."""
    own, kind = str(raw.get("apiVersion", "")).partition("/")[0], str(raw.get("kind", ""))
    if group != GROUP:
        return own != group
    mistyped = own == "v1" and near(kind, _CORE, 0.8)
    return bool(own) and own != GROUP and kind not in {"ConfigMap", *(k for _, k in MODELS)} and not mistyped
