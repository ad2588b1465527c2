"""`weir help`: the pages of the documentation, as they are installed with the command line."""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path
from typing import Annotated

import typer

from weir_operator.cli.exit_codes import BAD_INPUT, OK

INSTALLED = Path(sysconfig.get_path("data")) / "share" / "doc" / "weir"
OF_THE_SOURCE = Path(__file__).parents[3] / "docs"
PLACES = (".", "guides", "gitops", "runbooks")
"""Folders of pages that people read; pyproject.toml installs them."""


def help_page(
    topic: Annotated[str | None, typer.Argument(help="A page, as sql; by default the list of them.")] = None,
) -> int:
    """Print a page of the documentation: SQL, manifests, formats of files, messages and what to do.

    Examples:

      weir help                                # the list of pages

      weir help sql
    """
    from weir_placement.model.suggestion import near

    pages = _pages()
    if topic is None:
        wide = max(map(len, pages), default=0)
        for name, page in pages.items():
            print(f"weir help {name:{wide}} {_title(page)}")
        return OK
    folded = {name.lower(): page for name, page in pages.items()}
    name = topic.lower().removesuffix(".md").rpartition("/")[2]
    if name not in folded:
        meant = near(topic, pages)
        right = f"did you mean {meant}?" if meant else f"pages: {', '.join(pages)}"
        print(f"no page {topic}; {right}", file=sys.stderr)
        return BAD_INPUT
    _show(folded[name].read_text(encoding="utf-8"))
    return OK


def _pages() -> dict[str, Path]:
    """By name; those of a source tree go before those that are installed."""
    folder = OF_THE_SOURCE if (OF_THE_SOURCE / "sql.md").exists() else INSTALLED
    files = [file for place in PLACES for file in sorted((folder / place).glob("*.md"))]
    return {file.parent.name if file.stem == "README" else file.stem: file for file in files}


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next((line.lstrip("# ").strip() for line in lines if line.startswith("# ")), "")


def _show(text: str) -> None:
    """On a terminal with its headings, tables and code; elsewhere as it is written."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    if not console.is_terminal:
        print(text, end="")
        return
    without_pictures = re.sub(r"^!\[[^\]]*\]\([^)]*\)\n", "", text, flags=re.MULTILINE)
    console.print(Markdown(without_pictures))
