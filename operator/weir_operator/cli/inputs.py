"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Paths = Annotated[
    list[str],
    typer.Option(
        "-f", "--filename", metavar="PATH", help="File, folder or - for standard input; repeatable."
    ),
]
OptionalPaths = Annotated[
    list[str] | None, typer.Option("-f", "--filename", metavar="PATH", help="File, folder or -; repeatable.")
]
Namespace = Annotated[str, typer.Option("-n", "--namespace", help="Namespace of objects that name none.")]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy", metavar="NAME", help="Strategy instead of the policy's; see `weir strategies`."
    ),
]
ObjectiveName = Annotated[
    str | None, typer.Option("--objective", metavar="NAME", help="Objective instead of the policy's.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="An option of the strategy; repeatable."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Seed of the strategy's random numbers.")
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="S", help="Longest time for one plan [s].")
]


def pairs(settings: list[str] | None) -> dict[str, str]:
    """`KEY=VALUE` strings as a mapping.

    Raises:
        typer.BadParameter: one without `=`.
    """
    result = {}
    for text in settings or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE")
        result[key] = value
    return result
