"""`weir calibrate`: this machine's costs, for plans made on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weir_operator.cli.run import CALIBRATION

FileOption = Annotated[Path, typer.Option("--file", metavar="FILE", help="File for the costs.")]


def calibrate(file: FileOption = CALIBRATION) -> int:
    """Measure what each kind of operator costs on this machine, with real Spark fragments on one core.

    `weir run` and the demo read the file; about two minutes on a free core.

    Example:

      weir calibrate
    """
    from rich.console import Console
    from rich.table import Table

    from weir_operator.bench.calibrate import calibrate as measure

    console = Console()
    calibration = measure(lambda text: console.print(text, markup=False))
    calibration.save(file)
    table = Table("cost", "CPU-us")
    for kind, cost in calibration.costs.items():
        table.add_row(f"{kind}, per row in", f"{cost:.2f}")
    table.add_row("join, per row out", f"{calibration.out:.2f}")
    table.add_row("reading a row", f"{calibration.read:.2f}")
    console.print(table)
    console.print(f"written to {file}")
    return 0
