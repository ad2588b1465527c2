"""`weir bench`: the papers' experiments."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from weir_operator.cli import BAD_INPUT


def bench(
    name: Annotated[str, typer.Argument(help="An experiment, or `all`.")],
    folder: Annotated[Path, typer.Option("--out", help="Where pages are written.")] = Path("docs/benchmarks"),
) -> int:
    """Run one of the papers' experiments: a table, a CSV and a plot beside the paper's figures.

    Examples:

      weir bench iflow-64

      weir bench all --out results/
    """
    from weir_placement.bench import BENCHES

    if name != "all" and name not in BENCHES:
        print(f"no experiment {name}; there are: all, {', '.join(BENCHES)}", file=sys.stderr)
        return BAD_INPUT
    for chosen in BENCHES if name == "all" else [name]:
        module, function = BENCHES[chosen].split(":")
        getattr(import_module(module), function)(folder)
        print(folder / f"{chosen}.md")
    return 0
