"""`weir strategies`: the planners by name."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated, Literal

import typer

from weir_operator.cli import BAD_INPUT


def strategies(
    name: Annotated[str | None, typer.Argument(help="One strategy, with its options.")] = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("-o", "--output", help="table or json.")
    ] = "table",
) -> int:
    """List the planning strategies: name, paper, objectives, guarantee.

    Examples:

      weir strategies

      weir strategies annealing     with its options for --set
    """
    from weir_placement.strategies import STRATEGIES

    from weir_operator.manifests.finding import suggestion

    if name is not None and name not in STRATEGIES:
        print(f"no strategy {name}; {suggestion(name, STRATEGIES, 'strategies')}", file=sys.stderr)
        return BAD_INPUT
    chosen = [STRATEGIES[name]] if name else list(STRATEGIES.values())
    if output == "json":
        print(json.dumps([{**asdict(s), "options": dict(s.options)} for s in chosen], indent=1))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("NAME", "PAPER", "OBJECTIVES", "GUARANTEE"):
        table.add_column(heading)
    for strategy in chosen:
        table.add_row(strategy.name, strategy.paper, ", ".join(strategy.objectives), strategy.guarantee)
    console = Console(highlight=False)
    console.print(table)
    if name:
        for option, text in chosen[0].options.items():
            console.print(f"  --set {option}=...   {text}", markup=False)
    return 0
