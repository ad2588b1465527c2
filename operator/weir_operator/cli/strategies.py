"""`weir strategies`: the planners by name."""

from __future__ import annotations

import json
import sys
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from weir_operator.cli.exit_codes import BAD_INPUT

if TYPE_CHECKING:
    from weir_placement.strategy import Strategy

LEGEND = """GUARANTEE: what is known of a plan's quality; PAPER: titles are in `weir help papers`
`weir strategies NAME` lists options for --set"""


def strategies(
    name: Annotated[str | None, typer.Argument(help="One strategy, with its options.")] = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("-o", "--output", help="Output format.")
    ] = "table",
) -> int:
    """List the planning strategies: name, paper, objectives, guarantee; with a name, also its options.

    Examples:

      weir strategies

      weir strategies annealing                # and its options for --set
    """
    from weir_placement.model.suggestion import suggestion
    from weir_placement.strategies import STRATEGIES

    if name is not None and name not in STRATEGIES:
        print(f"no strategy {name}; {suggestion(name, STRATEGIES, 'strategies')}", file=sys.stderr)
        return BAD_INPUT
    listed = [STRATEGIES[name]] if name else list(STRATEGIES.values())
    if output == "json":
        print(json.dumps([_described(s) for s in listed], indent=1))
        return 0
    from rich.padding import Padding
    from rich.text import Text

    from weir_operator.cli.columns import TableColumn, console, table

    columns = (
        TableColumn("NAME"),
        TableColumn("OBJECTIVES", wraps=True),
        TableColumn("GUARANTEE", wraps=True),
        TableColumn("PAPER", wraps=True),
    )
    out = console()
    rows = [(s.name, ", ".join(o.name for o in s.objectives), s.guarantee, s.paper) for s in listed]
    out.print(table(columns, rows, out.width))
    out.print()
    if name:
        for option in listed[0].options.values():
            unit = f" [{option.unit}]" if option.unit else ""
            only = f" ({option.objective} only)" if option.objective else ""
            out.print(Text(f"--set {option.name}={option.shown(option.default)}{unit}"))
            out.print(Padding(Text(f"{option.help}{only}; {option.accepts}"), (0, 0, 0, 4), expand=False))
        out.print()
    out.print(Text(_legend(), style="dim"))
    return 0


def _legend() -> str:
    """What the objectives are, what the columns mean, and what `auto` stands for."""
    from weir_placement.objectives import OBJECTIVES
    from weir_placement.strategies import STRATEGIES, select

    most = {"more": "the most", "less": "the least"}
    goals = (f"{o.name}: {most[o.better]} {o.words} [{o.unit}]" for o in OBJECTIVES.values())
    means = (
        f"{select('auto', name).name} for {name}"
        for name in OBJECTIVES
        if not STRATEGIES["auto"].plans_for(name)
    )
    return f"{'; '.join(goals)}\n{LEGEND}\n`auto`, the default, means {', '.join(means)}"


def _described(strategy: Strategy[Any]) -> dict[str, Any]:
    """A strategy as JSON; a missing bound is null."""
    return {
        "name": strategy.name,
        "paper": strategy.paper,
        "objectives": [o.name for o in strategy.objectives],
        "guarantee": strategy.guarantee,
        "options": {
            option.name: {
                "type": {int: "integer", float: "number", bool: "boolean"}[option.type],
                "default": option.default,
                "unit": option.unit,
                "least": option.least if option.type is not bool else None,
                "most": option.most if option.most < inf else None,
                "objective": option.objective,
                "help": option.help,
            }
            for option in strategy.options.values()
        },
    }
