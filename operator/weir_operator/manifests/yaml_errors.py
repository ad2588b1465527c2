"""What is wrong with a text that is not YAML, or not JSON, in words for whoever wrote it."""

from __future__ import annotations

import re
from typing import Any

import yaml

from weir_operator.manifests.finding import Finding

_RIGHT = {
    # what the parser says -> (what is wrong, what would be right)
    "mapping values are not allowed in this context": (
        "a ': ' where no field can begin",
        "quote the text that contains it, or indent the line as its neighbours",
    ),
    "did not find expected key": (
        "this does not continue the block above it",
        "indent it as the fields of its own block; quote a text that goes on after a quote",
    ),
    "did not find expected '-' indicator": (
        "a field among the items of a list",
        "begin the item with '- ', or indent the field as its own block",
    ),
    "did not find expected ',' or '}'": ("a '{' is not closed", "write '}', or a ',' before the next field"),
    "did not find expected ',' or ']'": ("a '[' is not closed", "write ']', or a ',' before the next item"),
    "could not find expected ':'": (
        "a line that is not a field",
        "write `name: value`, with a space after ':'",
    ),
    "did not find expected node content": ("a value is missing", "write it, or close the bracket"),
    "found unknown escape character": (
        "an unknown \\ in double quotes",
        "write it twice, or use single quotes",
    ),
    "did not find expected <document start>": (
        "text after the end of an object",
        "begin another object with ---",
    ),
    "block sequence entries are not allowed in this context": (
        "a '- ' where no list can begin",
        "begin the list on a line of its own, below its field",
    ),
}
_QUOTE_GOES_ON = ("found unexpected end of stream", "found unexpected document indicator")
_CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)
_NOT_FIRST = {
    "@": "quote the text: none begins with @",
    "`": "quote the text: none begins with `",
    "%": "quote the text: none begins with %",
}


def syntax_finding(error: yaml.YAMLError, text: str, file: str) -> Finding:
    """The finding of a text that cannot be parsed, with its line."""
    form = "JSON" if file.endswith(".json") else "YAML"
    position = getattr(error, "position", None)
    if isinstance(error, yaml.reader.ReaderError) and isinstance(position, int):
        line = text.count("\n", 0, position) + 1
        wrong = f"character {error.character:#04x} is not allowed"
        return Finding(None, "", f"is not {form}: {wrong}", "remove it", file=file, line=line)
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        line = text.count("\n", 0, conflict.start()) + 1
        return Finding(None, "", f"is not {form}: a merge conflict", "resolve it", file=file, line=line)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or "it cannot be parsed")
    if mark is None:
        return Finding(None, "", f"is not {form}: {problem}", "", file=file)
    wrong, right = _wording(problem, error, text, mark)
    return Finding(None, "", f"is not {form}: {wrong}", right, file=file, line=mark.line + 1)


def _wording(problem: str, error: yaml.YAMLError, text: str, mark: Any) -> tuple[str, str]:
    line = [*text.split("\n"), ""][mark.line]
    first = line[mark.column : mark.column + 1]
    if "\t" in line[: mark.column + 1] and "\t" in line[: len(line) - len(line.lstrip())]:
        return "a tab in the indentation", "indent with spaces"
    if problem == "found undefined alias":
        return _alias(text, mark)
    if first in _NOT_FIRST and problem == "found character that cannot start any token":
        return f"a value cannot begin with {first}", _NOT_FIRST[first]
    if "\u00a0" in line[: len(line) - len(line.lstrip())]:
        return "a no-break space (U+00A0) in the indentation", "indent with plain spaces"
    if problem in _QUOTE_GOES_ON and error.context_mark:  # type: ignore[attr-defined]
        return "a quote is not closed", f"it is opened in line {error.context_mark.line + 1}"  # type: ignore[attr-defined]
    if problem.startswith("could not determine a constructor for the tag"):
        return f"the tag {line[mark.column :].split()[0]} is not known", "write the plain value"
    if "{{" in line:
        return "a template ({{)", "render it first, as `helm template` does"
    wrong, right = _RIGHT.get(problem, (problem, ""))
    opened = getattr(error, "context_mark", None)
    if "is not closed" in wrong and opened is not None and opened.line != mark.line:
        right += f" (it is opened in line {opened.line + 1})"
    return wrong, right


def _alias(text: str, mark: Any) -> tuple[str, str]:
    """An alias without its anchor, which may be in another document of the file."""
    name = (re.match(r"\*([^\s,\[\]{}]+)", text.split("\n")[mark.line][mark.column :]) or [0, ""])[1]
    anchor = re.search(rf"&{re.escape(str(name))}(?![^\s,\[\]{{}}])", text)
    wrong = f"the alias *{name} has no anchor in this document"
    if anchor is None:
        return wrong, f"write &{name} before the value that it stands for"
    line = text.count("\n", 0, anchor.start()) + 1
    if line > mark.line:
        return wrong, f"&{name} comes later, in line {line}: it must come before"
    return wrong, f"&{name} in line {line} ends with its document, at ---: write the value again"
