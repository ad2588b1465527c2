"""Where in a file a place within a field's text is: SQL errors have the line and column of the file."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any


def place_in_file(text: str, node: Any, within: tuple[int, int]) -> tuple[int, int] | None:
    """(line, column) in the file `text`, from 1, of line and column `within` the value of a YAML scalar.

    Blanks aside, a value has the characters of its source in their order, however it is folded and indented.
    None where that does not hold: a text with escapes.
    """
    source = text[node.start_mark.index : node.end_mark.index]
    begin = 0
    if node.style in ("|", ">"):
        begin = source.find("\n") + 1
    elif node.style in ("'", '"'):
        begin = 1
        if "\\" in source or "''" in source:
            return None
    lines = node.value.split("\n")
    before = "".join(lines[: within[0] - 1]) + lines[within[0] - 1][: within[1] - 1]
    count = len(re.findall(r"\S", before))
    first = max(0, count - 1)
    near = list(islice(re.finditer(r"\S", source[begin:]), first, count + 1))
    if not near:
        return None
    at_end = lines[within[0] - 1][within[1] - 1 :].strip() == "" or len(near) <= count - first
    offset = node.start_mark.index + begin + (near[0].end() if count and at_end else near[-1].start())
    line_start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, offset - line_start + 1
