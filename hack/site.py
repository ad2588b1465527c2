"""A hook of mkdocs: links that leave docs/ (to code, tests, charts) become the names of what they lead to.

That those files exist is tested by tests/docs; on the site they are not. A fence that was not understood, and
would stand in a paragraph as it was written, is an error.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from mkdocs.exceptions import PluginError

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


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page as it is shown; raises PluginError for a fence in its text."""
    if fence := re.search(r"<p>```[^\n]*", html):
        raise PluginError(f"{page.file.src_uri}: {fence[0].removeprefix('<p>')} is not understood as a fence")
    return html
