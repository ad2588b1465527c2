"""The page of the results, and the results as a file that a later run goes on with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weir_placement.bench import page
from weir_placement.bench.stamp import stamp

from tests.bench.links.contenders import EXECUTORS, PLACES
from tests.bench.links.lag import FLAT, Trial
from tests.bench.links.queries import DELIVERY, PLAIN
from tests.bench.links.search import STEP, Found

NAME = "bench-links"
TITLE = "What a plan is worth: three zones, thin links"
BASE = "plain-job"
HEADER = (
    "queries", "contender", "sustained [rows/s]", "x plain job", "not flat at [rows/s]", "slope there [s/s]",
    "lag [s]", "slope [s/s]", "cores busy", "all links [MB/s]", "[bytes] a row over links", "fullest link",
    "of its width",
)  # fmt: skip


@dataclass(frozen=True)
class Conditions:
    """What results must share to stand in one table."""

    bits: int
    payload: int
    seconds: float
    trigger: int


@dataclass(frozen=True)
class LinkResult:
    """One contender on one set of queries; `where`: its pods' nodes."""

    queries: str
    contender: str
    found: Found
    where: Mapping[str, str]


def save(path: Path, conditions: Conditions, results: Sequence[LinkResult]) -> None:
    """As JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"conditions": asdict(conditions), "results": [asdict(r) for r in results]}
    path.write_text(json.dumps(content, indent=1))


def load(path: Path, conditions: Conditions) -> list[LinkResult]:
    """Of earlier runs under the same conditions."""
    if not path.exists():
        return []
    content = json.loads(path.read_text())
    if content["conditions"] != asdict(conditions):
        return []
    return [_result(r) for r in content["results"]]


def _result(raw: dict[str, Any]) -> LinkResult:
    tries = tuple(Trial(**trial) for trial in raw["found"]["tries"])
    return LinkResult(raw["queries"], raw["contender"], Found(tries), raw["where"])


def rows(results: Sequence[LinkResult], bits: int) -> list[page.Row]:
    """One a contender; "-" where nothing is known."""
    base = {r.queries: r.found.sustained for r in results if r.contender == BASE}
    table: list[page.Row] = []
    for result in _ordered(results):
        sustained, refused, plain = result.found.sustained, result.found.refused, base.get(result.queries)
        above = (round(refused.rate), refused.slope) if refused else ("-", "-")
        figures: tuple[str | float, ...] = ("-",) * 7
        if sustained:
            total = sum(sustained.links.values())
            fullest = max(sustained.links, key=lambda link: sustained.links[link])
            share = sustained.links[fullest] * 8 / bits
            figures = (
                sustained.lag,
                sustained.slope,
                sustained.cores,
                total / 1e6,
                total / sustained.rate,
                fullest,
                f"{share:.0%}",
            )
        ratio: str | float = sustained.rate / plain.rate if sustained and plain else "-"
        if refused and plain and not sustained:  # what it sustains, if anything, is below all that was held
            ratio = f"< {refused.rate / plain.rate:.2f}"
        rate = round(sustained.rate) if sustained else f"< {above[0]}"
        table.append((result.queries, PLACES[result.contender], rate, ratio, *above, *figures))
    return table


def link_rows(results: Sequence[LinkResult]) -> list[str]:
    """A second table: MB/s over each link while the sustained rate flowed."""
    items = [r for r in _ordered(results) if r.found.sustained]
    links = sorted({link for r in items for link in r.found.sustained.links}) if items else []  # type: ignore[union-attr]
    lines = [f"| queries | contender | {' | '.join(links)} |", f"|{'---|' * (len(links) + 2)}"]
    for r in items:
        assert r.found.sustained
        values = (f"{r.found.sustained.links.get(link, 0.0) / 1e6:.3f}" for link in links)
        lines.append(f"| {r.queries} | {PLACES[r.contender]} | {' | '.join(values)} |")
    return lines


def _ordered(results: Sequence[LinkResult]) -> list[LinkResult]:
    sets, places = list(PLAIN), list(PLACES)
    return sorted(results, key=lambda r: (sets.index(r.queries), places.index(r.contender)))


def publish(folder: Path, conditions: Conditions, results: Sequence[LinkResult], command: str) -> None:
    """Writes page, CSV and plot."""
    page.write(
        folder, NAME, TITLE, text(conditions, results, command), HEADER, rows(results, conditions.bits),
        lambda axes: draw(axes, results),
    )  # fmt: skip
    stamp(folder, NAME, "make bench-links", "tests.bench.links.bench")


def text(conditions: Conditions, results: Sequence[LinkResult], command: str) -> str:
    """What was done, so that a reader can judge the figures."""
    return "\n\n".join(
        [
            about(conditions, command),
            "MB/s over each link while the sustained rate flowed:",
            "\n".join(link_rows(results)),
            "Where their pods were:",
            "\n".join(
                f"- {r.queries}, {PLACES[r.contender]}: "
                + ", ".join(f"{pod} on {node}" for pod, node in sorted(r.where.items()))
                for r in _ordered(results)
            ),
            "The rates:",
        ]
    )


def about(conditions: Conditions, command: str) -> str:
    """Conditions and contenders, in words."""
    c = conditions
    return f"""
Written by `{command}`. A kind cluster on one machine, one worker in each of the zones newyork, west and
{DELIVERY}. Each worker sends to another zone's node and pods through one token bucket of
{c.bits / 1e6:g} Mbit/s (`tc`, htb, one class a destination, each direction by itself); the control plane is
not limited, no latency is added. Departures, weather and AB enter in newyork, arrivals, BC and CD in west;
all results are delivered to a topic in {DELIVERY}. Kafka has one broker a zone and keeps each stream in its
own, without compression; feeders run beside the brokers that they feed. Workers share the machine's cores, so
a pod that only asks for them tells planners that each has a third. Checkpoints are on a folder that all
nodes share and use no link.

Each row carries a payload of {c.payload} bytes of random text that no query reads, as telemetry does. Its
width decides the figures: what a plain job takes is the link's width by the row's, while a plan that filters
before the link hardly depends on it. All zones share this machine's two cores, so where `cores busy` is near
2 a contender was stopped by them and not by the links: with cores of its own in each zone it would go higher.

A rate is of all streams together. Lag is how long the oldest row has waited that the slowest reader of a
stream, or of a flow between fragments, has not taken. A rate is sustained when the slope of the lag (least
squares over {c.seconds:g} s) is at most {FLAT:g} s/s. Rates go up by steps of {STEP:g}, after
the first by two at a time, until one is not flat; then the step between is held. A step that is clearly not
flat is ended early. All contenders start a batch at most every {c.trigger / 1000:g} s. Each ran once.

The plain job is one Spark application in {DELIVERY} (two cores, Spark's own Kafka source, optimiser and
sink). It reads a topic once for each query that needs it, as Spark does: departures three times, weather
twice. Spark's default placement is the same application with {EXECUTORS} executors (Spark's default number)
and nothing that says where its pods go. Round-robin puts each operator of the written plan on the node with
the fewest; Weir's plan is that of the strategy `auto` for headroom. Both have Kafka between fragments.
""".strip()


def draw(axes: Any, results: Sequence[LinkResult]) -> None:
    """Bars of the sustained rates, grouped by queries."""
    sets = [name for name in PLAIN if any(r.queries == name for r in results)]
    width = 0.8 / len(PLACES)
    for k, (name, label) in enumerate(PLACES.items()):
        of = {r.queries: r.found.sustained for r in results if r.contender == name}
        heights = [sustained.rate if (sustained := of.get(s)) else 0.0 for s in sets]
        at = [i + (k - (len(PLACES) - 1) / 2) * width for i in range(len(sets))]
        bars = axes.bar(at, heights, width, label=label)
        axes.bar_label(bars, fmt="%.0f", fontsize=8)
    axes.set_xticks(range(len(sets)), sets)
    axes.set_ylabel("input rate sustained [rows/s]")
    axes.legend(fontsize=8)
