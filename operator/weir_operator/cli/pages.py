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


def help_page(
    topic: Annotated[str | None, typer.Argument(help="A page, as sql; by default the list of them.")] = None,
) -> int:
    """Print a page of the documentation: SQL, manifests, formats of files, messages and what to do.

    Examples:

      weir help                                # the list of pages

      weir help sql
    """
    from weir_placement.model.suggestion import suggestion

    pages = _pages()
    if topic is None:
        for name, page in pages.items():
            print(f"weir help {name:18} {_title(page)}")
        return OK
    if topic not in pages:
        print(f"no page {topic}; {suggestion(topic, pages, 'pages')}", file=sys.stderr)
        return BAD_INPUT
    _show(pages[topic].read_text(encoding="utf-8"))
    return OK


def _pages() -> dict[str, Path]:
    """By name; those of a source tree go before those that are installed."""
    folder = OF_THE_SOURCE if (OF_THE_SOURCE / "sql.md").exists() else INSTALLED
    return {page.stem: page for page in sorted(folder.glob("*.md"))}


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
