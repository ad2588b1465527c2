"""`nos-optimal`: how far the greedy plans of NOS are from the optimum, and what the optimum takes to find."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import mean, median
from time import process_time
from typing import Any

from weir_placement.bench.machine import described
from weir_placement.bench.page import Row, write
from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.optimal import Priced, nos_optimal, priced
from weir_placement.joins.shared_optimum import Shared, nos_shared
from weir_placement.joins.streams import MultiwayJoin, StepCosts, windowed

JOINS = 20
WIDTHS = range(2, 11)
HEADER = (
    "streams",
    "greedy above the optimum, mean %",
    "worst %",
    "nos_optimal, median CPU ms",
    "nos_optimal, most CPU ms",
    "greedy above nos_shared, shared cost, mean %",
    "nos_optimal above nos_shared, mean %",
    "nos_shared above its bound, mean %",
    "proven",
    "nos_shared, median CPU ms",
    "nos_shared, most CPU ms",
)


def random_join(random: Random, width: int) -> MultiwayJoin:
    """Rates 10 to 300 tuples/s, f 0.002 to 0.05, 50 to 300 bytes, windows of 500 ms; the paper's links."""
    streams = tuple(
        windowed(
            f"S{number + 1}",
            random.uniform(10, 300),
            random.uniform(0.002, 0.05),
            random.uniform(50, 300),
            0.5,
        )
        for number in range(width)
    )
    return MultiwayJoin(streams, StepCosts(random.choice([1e-7, 1e-6, 1e-5, 1e-4]), 1e-6, 0.005, 128_000.0))


def _row(width: int) -> Row:
    random = Random(width)
    greedy: list[Priced] = []
    apart: list[Priced] = []
    together: list[Shared] = []
    seconds: list[float] = []
    shared_seconds: list[float] = []
    for _ in range(JOINS):
        join = random_join(random, width)
        greedy.append(priced(join, nos_greedy(join)))
        started = process_time()
        apart.append(nos_optimal(join))
        seconds.append(process_time() - started)
        together.append(nos_shared(join))
        shared_seconds.append(process_time() - started - seconds[-1])
    gaps = [100.0 * (a.cost / b.cost - 1.0) for a, b in zip(greedy, apart, strict=True)]
    return (
        width,
        mean(gaps),
        max(gaps),
        1e3 * median(seconds),
        1e3 * max(seconds),
        100.0 * mean(a.shared / b.shared - 1.0 for a, b in zip(greedy, together, strict=True)),
        100.0 * mean(a.shared / b.shared - 1.0 for a, b in zip(apart, together, strict=True)),
        100.0 * mean(max(result.shared / result.bound - 1.0, 0.0) for result in together),
        f"{sum(result.proven for result in together)} of {JOINS}",
        1e3 * median(shared_seconds),
        1e3 * max(shared_seconds),
    )


def nos_optimal_page(folder: Path) -> None:
    """Beyond NOS, whose section 3 has the greedy algorithm only."""
    nos_shared(random_join(Random(0), 3))  # compiles
    rows = [_row(width) for width in WIDTHS]
    text = f"""
{JOINS} random joins of each width: rates 10 to 300 tuples/s, f 0.002 to 0.05, tuples of 50 to 300 bytes,
windows of 500 ms, c_p from 1e-7 to 1e-4 s, c_u 1e-6 s, links of 1024 kbit/s and 5 ms. The paper says that its
greedy plans need not be optimal and gives no figure.

`nos_optimal` is exact for equations 1 to 3, where each chain pays for all of its ships and updates.
`nos_shared` plans for the shared cost, in which chains that ship the same stream to the same node, or keep
its window there, do so once; it is exact where it proves its plan, and stops after 50 subproblems otherwise,
with a bound. The aim is 50 ms for 10 streams: `nos_optimal` keeps it always, `nos_shared` in the median.
"Greedy above the optimum" is by equations 1 to 3, the columns that name nos_shared are of the shared cost.

Seeds 2 to 10. {described()}
"""

    def plot(axes: Any) -> None:
        axes.plot(list(WIDTHS), [row[1] for row in rows], marker="o", label="equations 1 to 3: greedy")
        axes.plot(list(WIDTHS), [row[5] for row in rows], marker="o", label="shared cost: greedy")
        axes.plot(list(WIDTHS), [row[6] for row in rows], marker="o", label="shared cost: nos_optimal")
        axes.set_xlabel("streams")
        axes.set_ylabel("above the best plan, mean %")
        axes.legend()

    write(folder, "nos-optimal", "Greedy and optimal chains (NOS)", text, HEADER, rows, plot)
