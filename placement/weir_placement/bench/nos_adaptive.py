"""`nos-adaptive`: Experiments 1 and 2 of NOS and its table 3, in simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

from weir_placement.bench.join_adaptation import (
    CHANGING,
    HIGH,
    LOW,
    MEASURED_EVERY,
    SELECTIVITY,
    SIZE,
    STEP,
    WINDOW,
    Course,
    Situation,
    adaptive,
    fixed_and_foreseeing,
    situation,
)
from weir_placement.bench.machine import described
from weir_placement.bench.page import Row, cell, write
from weir_placement.joins.agent import agents_of
from weir_placement.joins.central import central_update
from weir_placement.joins.delivery import deliver
from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.streams import MultiwayJoin, windowed

REPEATS = 10
WIDTHS = (4, 8)
PROBES = (1e-6, 1e-5, 1e-4)
PAPER_TABLE_3 = {
    (4, True): (4, 34, 24, 65, 61, 44),
    (4, False): (4, 27, 24, 59, 55, 32),
    (8, True): (8, 131, 112, 561, 181, 152),
    (8, False): (8, 115, 112, 283, 83, 48),
}
"""CNU: modification, migration, of it synchronisation; DNU: the same. By width and whether the rate rises."""
PAPER_OVERHEAD = {4: "1.4 to 2.5", 8: "2.1 to 2.7"}
HEADER = (
    "streams",
    "c_p [s]",
    "measured",
    "update",
    "above the foreseeing planner, %",
    "non-adaptive above it, %",
    "highest cost, % of the non-adaptive one's",
    "above the non-adaptive one, ms a fall",
    "by at most, %",
    "messages and copies, % of the cost",
)


@dataclass(frozen=True)
class Runs:
    """The repeats of one setting: [s/s] at each step of the fixed, the foreseeing and the adaptive plans."""

    fixed: list[list[float]]
    foreseeing: list[list[float]]
    courses: list[Course]

    def row(self, *names: str | float | int) -> Row:
        """A line of the table."""
        adaptive_area = sum(sum(course.cost) for course in self.courses)
        fixed, foreseeing = sum(map(sum, self.fixed)), sum(map(sum, self.foreseeing))
        ratios = [
            a / b
            for course, costs in zip(self.courses, self.fixed, strict=True)
            for a, b in zip(course.cost, costs, strict=True)
        ]
        above = sum(ratio > 1.0 + 1e-9 for ratio in ratios) * STEP / (2 * len(self.courses))
        overhead = sum(o.total for course in self.courses for o in course.overheads)
        highest = max(max(course.cost) for course in self.courses) / max(map(max, self.fixed))
        return (
            *names,
            100.0 * (adaptive_area / foreseeing - 1.0),
            100.0 * (fixed / foreseeing - 1.0),
            100.0 * highest,
            1e3 * above,
            100.0 * (max(ratios) - 1.0),
            100.0 * overhead / (adaptive_area * STEP),
        )


def runs(
    situations: Sequence[Situation],
    plain: Sequence[tuple[list[float], list[float]]],
    *,
    central: bool,
    in_phase: bool,
) -> Runs:
    """All repeats; out of phase the first measurement is at a random time of the first 200 ms.

    Args:
        situations: one a repeat.
        plain: the costs of the fixed and the foreseeing plans in each.
        central: CNU, else DNU.
        in_phase: measured at 0, 200, ... ms.
    """
    offsets = [0.0 if in_phase else Random(k).randrange(20) * STEP for k in range(len(situations))]
    courses = [
        adaptive(one, central=central, offset=offset) for one, offset in zip(situations, offsets, strict=True)
    ]
    return Runs([costs for costs, _ in plain], [costs for _, costs in plain], courses)


def nos_adaptive(folder: Path) -> None:
    """NOS, section 5: figures 4 and 5 and table 3."""
    rows: list[Row] = []
    main: dict[tuple[int, bool], Runs] = {}
    for probe in PROBES:
        for width in WIDTHS:
            situations = [situation(width, seed, probe) for seed in range(REPEATS)]
            plain = [fixed_and_foreseeing(one) for one in situations]
            for in_phase in (True, False):
                for central in (False, True):
                    row_runs = runs(situations, plain, central=central, in_phase=in_phase)
                    phase = "at 0, 200, ... ms" if in_phase else "at a random phase"
                    rows.append(row_runs.row(width, probe, phase, "CNU" if central else "DNU"))
                    if probe == PROBES[0] and in_phase:
                        main[width, central] = row_runs
    write(
        folder,
        "nos-adaptive",
        "Joins that adapt to their streams (NOS)",
        _text(main),
        HEADER,
        rows,
        lambda axes: _plot(axes, main),
    )


def message_counts(width: int) -> dict[bool, tuple[int, ...]]:
    """Messages for steady statistics, as in table 3, by whether the rate rises.

    CNU with the paper's synchronisation, and through a coordinator; DNU: modification, migration, of it
    synchronisation, envelopes.
    """
    first = [
        windowed(f"S{k + 1}", LOW if k == CHANGING else 100.0, SELECTIVITY, SIZE, WINDOW)
        for k in range(width)
    ]
    join = MultiwayJoin(tuple(first), situation(width, 0).costs)
    plan = nos_greedy(join)
    agents = agents_of(join, plan)
    counts: dict[bool, tuple[int, ...]] = {}
    for rate in (HIGH, LOW):
        stream = windowed(f"S{CHANGING + 1}", rate, SELECTIVITY, SIZE, WINDOW)
        join = join.changed(CHANGING, stream)
        traffic = deliver(agents, agents[CHANGING].observe(stream))
        update = central_update(join, plan, CHANGING)
        plan = update.plan
        counts[rate == HIGH] = (
            update.messages(all_to_all=True),
            update.messages(all_to_all=False),
            traffic.modification,
            traffic.migration,
            traffic.synchronisation,
            traffic.envelopes,
        )
    return counts


def _table_3() -> str:
    lines = [
        "| streams | rate | CNU, paper | CNU here, the paper's synchronisation | CNU here | DNU, paper "
        "| DNU here | of it modification | of it synchronisation | as envelopes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for width in WIDTHS:
        counts = message_counts(width)
        for rises in (True, False):
            paper = PAPER_TABLE_3[width, rises]
            all_to_all, through_one, modification, migration, synchronisation, envelopes = counts[rises]
            lines.append(
                f"| {width} | {'rises' if rises else 'falls'} | {paper[0] + paper[1]} | {all_to_all} "
                f"| {through_one} | {paper[3] + paper[4]} | {modification + migration} "
                f"| {modification} | {synchronisation} | {envelopes} |"
            )
    return "\n".join(lines)


def _figure_5(main: dict[tuple[int, bool], Runs]) -> str:
    lines = [
        "| streams | rate | DNU: modification, migration, windows [ms] | CNU: the same [ms] | DNU / CNU "
        "| without windows | paper |",
        "|---|---|---|---|---|---|---|",
    ]
    for width in WIDTHS:
        for rises in (True, False):
            means = {}
            for central in (False, True):
                all_ = [
                    o for course in main[width, central].courses for o in course.overheads if o.rises == rises
                ]
                means[central] = tuple(
                    1e3 * mean(values)
                    for values in zip(*((o.modification, o.migration, o.windows) for o in all_), strict=True)
                )
            distributed, central_ = means[False], means[True]
            lines.append(
                f"| {width} | {'rises' if rises else 'falls'} | {', '.join(f'{v:.0f}' for v in distributed)} "
                f"| {', '.join(f'{v:.0f}' for v in central_)} | {cell(sum(distributed) / sum(central_))} "
                f"| {cell(sum(distributed[:2]) / sum(central_[:2]))} | {PAPER_OVERHEAD[width]} |"
            )
    return "\n".join(lines)


def _text(main: dict[tuple[int, bool], Runs]) -> str:
    return f"""
A simulation of section 5 of NOS: tuples of {SIZE:.0f} bytes, 100 tuples/s on every stream but one, whose rate
is 50 and from 1500 ms on 200 and 50 in turns of 2000 ms; links of 1024 kbit/s and 5 ms, f 0.01, windows of
500 ms, measured every {1e3 * MEASURED_EVERY:.0f} ms over the last 100 ms, {REPEATS} repeats with other phases
of the tuples. c_p and c_u are not in the paper: they are equal here, {PROBES[0]:g} s and, to see what they
do, more. A plan's cost is what equations 1 and 2 say for the true rates and for what is in the windows at
that time; nothing runs on Spark.

**Experiment 1 (figure 4).** The foreseeing planner has Algorithm 1's plan for the true statistics at every
moment, without measuring, messages or copies; the paper gives curves and no areas. What the adaptive plan
costs beyond that is the time until a change is measured and until windows are copied. It is below 5 % when
measurements come 100 ms after the changes, as on the paper's schedule (changes from 1500 ms on, measured
every 200 ms); at random phases it is 5.3 % for DNU with 4 streams and the smallest c_p. After a rise the
adaptive cost is that of the non-adaptive plan until the new plan is in force. After a fall it only goes down,
without the spike of figure 4(a): new plans are made for what a window will have at the new rate, and wait for
copies. But the plan for the high rate stays in force for as long, and is dearer then than the plan that the
non-adaptive planner never left: the columns say for how long after each fall and by how much. Only who
foresees a fall, or copies windows faster than at 1024 kbit/s, can avoid it. The last column is what
messages and copies take beside the plan's own cost.

**Experiment 2 (figure 5).** Seconds that all nodes and links spend on a change of plan, summed as in the
paper. Copying of windows is in the ratio, as shipments of windows are in the paper's migration, and left out
in the next column. Both updates go through a coordinator here. Computing is left out: it takes microseconds.

{_figure_5(main)}

**Messages (table 3).** Modification and migration together, for steady statistics.

{_table_3()}

- CNU with the paper's synchronisation has the paper's numbers when the rate rises: 10 and 19 requests for
  windows. When it falls, 3 and 6 more: a node is asked for each window that the new plan keeps somewhere new,
  and of these 3 and 2 are streams' windows back at their own nodes. The paper says that one window moves, to
  3 nodes in both cases; with 8 streams the changed stream is first in 7 chains and its window needed at 7
  nodes by equation 3.
- Synchronisation goes through the node whose statistics changed: 3 (n - 1) messages (prepare, local-ready,
  global-ready) and not 2 n (n - 1) for each round of updates. All agents know that node, so nobody is
  elected.
- One walk through a chain verifies all its places at once; the paper's relay goes through the rest of the
  chain for each place. A stream that has become dearer starts at the end, so that it is found its place in
  one walk, and one that has become cheaper asks the earlier ones only. A walk carries what arrives at each
  place of that chain and nobody's statistics but the changed stream's; nothing is broadcast.
- New roles come from the head's node, once a chain is settled, to nodes whose role has changed; the paper
  tells both neighbours of both streams at each swap.
- Envelopes: when messages from one node to another at the same time go together.

Seeds 0 to {REPEATS - 1}. {described()}
"""


def _plot(axes: Any, main: dict[tuple[int, bool], Runs]) -> None:
    for width, colour in zip(WIDTHS, ("tab:blue", "tab:red"), strict=True):
        shown_runs = main[width, False]
        times = [1e3 * STEP * k for k in range(len(shown_runs.fixed[0]))]
        axes.plot(
            times, shown_runs.fixed[0], color=colour, linestyle=":", label=f"{width} streams, non-adaptive"
        )
        axes.plot(times, main[width, True].courses[0].cost, color=colour, alpha=0.4, label=f"{width}, CNU")
        axes.plot(times, shown_runs.courses[0].cost, color=colour, label=f"{width}, DNU")
        axes.plot(times, shown_runs.foreseeing[0], color="black", linewidth=0.6)
    axes.set_xlabel("ms (black: the foreseeing planner)")
    axes.set_ylabel("cost of the plan in force [s/s]")
    axes.legend()
