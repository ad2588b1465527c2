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


def strategies(
    name: Annotated[str | None, typer.Argument(help="One strategy, with its options.")] = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("-o", "--output", help="Output format.")
    ] = "table",
) -> int:
    """List the planning strategies: name, paper, objectives, guarantee; with a name, also its options.

    Examples:

      weir strategies

      weir strategies annealing     and its options for --set
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
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("NAME", "PAPER", "OBJECTIVES", "GUARANTEE"):
        table.add_column(heading)
    for strategy in listed:
        objectives = ", ".join(each.name for each in strategy.objectives)
        table.add_row(strategy.name, strategy.paper, objectives, strategy.guarantee)
    console = Console(highlight=False)
    console.print(table)
    if name:
        for option in listed[0].options.values():
            unit = f" [{option.unit}]" if option.unit else ""
            only = f" ({option.objective} only)" if option.objective else ""
            default = option.shown(option.default)
            console.print(f"  --set {option.name}={default}{unit}: {option.help}{only}", markup=False)
            console.print(f"      {option.accepts}", markup=False)
    return 0


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
