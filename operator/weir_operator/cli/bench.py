"""`weir bench`: the papers' experiments, and what Spark costs on this machine."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from weir_operator.cli.exit_codes import BAD_INPUT
from weir_operator.cli.inputs import below_folders

OPERATORS = {
    "manifests": "weir_operator.bench.manifests:manifests",
    "hosts-opened": "weir_operator.bench.hosts_opened:hosts_opened",
    "calibration": "weir_operator.bench.calibration:calibration",
    "functions": "weir_operator.bench.functions:functions",
    "runtime": "weir_operator.bench.runtime:runtime",
    "density": "weir_operator.bench.density:density",
    "latency": "weir_operator.bench.latency:latency",
    "whitewater-runtime": "weir_operator.bench.whitewater:whitewater_runtime",
}
"""As weir_placement.bench.BENCHES; all but `manifests` and `hosts-opened` start Spark."""


def bench(
    name: Annotated[str, typer.Argument(help="An experiment, or `all`.")],
    folder: Annotated[
        Path, typer.Option("--out", help="Folder for the pages.", callback=below_folders)
    ] = Path("docs/benchmarks"),
) -> int:
    """Run one of the papers' experiments: a table, a CSV and a plot, compared with the paper's figures.

    `calibration`, `density`, `functions`, `runtime`, `latency` and `whitewater-runtime` measure Spark: they
    need the machine to themselves.

    Examples:

      weir bench iflow-64

      weir bench calibration

      weir bench all --out results/
    """
    from weir_placement.bench import BENCHES
    from weir_placement.bench.stamp import stamp
    from weir_placement.model.suggestion import suggestion

    benches = {**BENCHES, **OPERATORS}
    if name != "all" and name not in benches:
        print(f"no experiment {name}; {suggestion(name, ['all', *benches], 'experiments')}", file=sys.stderr)
        return BAD_INPUT
    for experiment in benches if name == "all" else [name]:
        module, function = benches[experiment].split(":")
        getattr(import_module(module), function)(folder)
        stamp(folder, experiment, f"weir bench {experiment}", module)
        print(folder / f"{experiment}.md")
    return 0
