"""`weir calibrate`: this machine's costs, for plans made on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weir_operator.cli.run import CALIBRATION

FileOption = Annotated[Path, typer.Option("--file", metavar="FILE", help="File for the costs.")]


def calibrate(file: FileOption = CALIBRATION) -> int:
    """Measure what rows, batches and processes cost on this machine, with real Spark fragments.

    `weir run` and the demo read the file; about a minute on two free cores.

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
    overheads = calibration.overheads
    table.add_row("each end of a flow, per row", f"{overheads.exchange_cost:.2f}")
    table.add_row("process, per batch", f"{overheads.batch_cost:,.0f}")
    table.add_row("source or flow read, per batch", f"{overheads.input_batch_cost:,.0f}")
    table.add_row("input of a join or aggregate, per batch", f"{overheads.state_batch_cost:,.0f}")
    table.add_row("process, per second", f"{overheads.fragment_cpu:,.0f}")
    console.print(table)
    console.print(f"written to {file}")
    return 0
