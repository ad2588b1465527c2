"""A hook of mkdocs: links that leave docs/ (to code, tests, charts) become the names of what they lead to.

That those files exist is tested by tests/docs; on the site they are not.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)\s]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text as mkdocs goes on with it."""
    folder = posixpath.dirname(page.file.src_uri)

    def plain(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2].partition("#")[0]))
        if not target.startswith("../"):
            return match[0]
        name = target.removeprefix("../")
        return match[1] if match[1].strip("`") in name else f"{match[1]} (`{name}`)"

    return LINK.sub(plain, markdown)
