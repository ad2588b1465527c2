"""A benchmark's page: text, table, CSV and plot under one name."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Row = Sequence[str | float | int]


def cell(value: str | float | int) -> str:
    """Three significant digits."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write(
    folder: Path,
    name: str,
    title: str,
    text: str,
    header: Sequence[str],
    rows: Sequence[Row],
    plot: Callable[[Any], None] | None = None,
) -> None:
    """Writes `<name>.md`, `<name>.csv` and, with a `plot` (drawing on Matplotlib axes), `<name>.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    lines = [f"# {title}", "", text.strip(), ""]
    lines += [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(cell(v) for v in row)} |" for row in rows]
    if plot is not None:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
        plot(axes)
        figure.savefig(folder / f"{name}.png", dpi=110)
        pyplot.close(figure)
        lines += ["", f"![{title}]({name}.png)"]
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n")
