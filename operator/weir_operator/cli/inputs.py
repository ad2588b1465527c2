"""Options that several commands share."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weir_operator.api.base import NAMESPACE_PATTERN

if TYPE_CHECKING:
    from weir_operator.manifests.load import Loaded
    from weir_operator.manifests.site import Site

Paths = Annotated[
    list[str],
    typer.Option(
        "-f", "--filename", metavar="PATH", help="File, folder or - for standard input; repeatable."
    ),
]
OptionalPaths = Annotated[
    list[str] | None, typer.Option("-f", "--filename", metavar="PATH", help="File, folder or -; repeatable.")
]


def _namespace(name: str) -> str:
    if not re.match(NAMESPACE_PATTERN, name) or not name:
        raise typer.BadParameter("write a name of lower-case letters, digits and '-'")
    return name


def positive(value: float | None) -> float | None:
    """A number that is not above 0 is refused."""
    if value is not None and not value > 0:
        raise typer.BadParameter("write a number above 0")
    return value


def below_folders(path: Path) -> Path:
    """A folder that is there, or can be made."""
    there = next(
        parent for parent in (path, *path.absolute().parents) if parent.exists() or parent.is_symlink()
    )
    if not there.is_dir():
        raise typer.BadParameter(f"{there.name} is a file; give a folder")
    return path


Namespace = Annotated[
    str,
    typer.Option("-n", "--namespace", help="Namespace of objects that do not name one.", callback=_namespace),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy", metavar="NAME", help="Strategy instead of the policy's; see `weir strategies`."
    ),
]
ObjectiveName = Annotated[
    str | None, typer.Option("--objective", metavar="NAME", help="Objective instead of the policy's.")
]
SetOptions = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="An option of the strategy; repeatable."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the strategy's random numbers.")
]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="S", help="Longest time to spend on one plan.", callback=positive),
]


def warn(loaded: Loaded, site: Site | None = None) -> None:
    """Tells what is well written and hardly meant, a line each, on standard error; the command goes on.
    `site` is where it is to run, if that is known."""
    from weir_operator.manifests.doubts import doubts
    from weir_operator.manifests.site import ANYWHERE

    for finding in doubts(loaded, site or ANYWHERE):
        print(f"warning: {finding}", file=sys.stderr)


def pairs(settings: list[str] | None) -> dict[str, str]:
    """`KEY=VALUE` strings as a mapping.

    Raises:
        typer.BadParameter: one without `=`.
    """
    result = {}
    for text in settings or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"--set {text}: write KEY=VALUE")
        result[key] = value
    return result
