"""`python -m tests.chaos.page`: docs/benchmarks/chaos.md from the results beside it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from tests.chaos.faults import KINDS

RESULTS = Path("docs/benchmarks/chaos.jsonl")
FINDINGS = Path(__file__).with_name("findings.md")
PAGE = Path("docs/benchmarks/chaos.md")

INTRODUCTION = """\
`make chaos`: three queries, one over each kind of exchange (folder, topic of a Kafka broker, S3 store), each
of two fragments under a `weir run` of its own, on a file system of its own and with a clock of its own. Up to
four faults strike at a time; most of them wait until their process has come to a point within a batch. A
fragment gets its next fault when it has done a batch after the last one. At the end of a run the sources end,
and every row is audited. Broker and store are reached through a proxy that can be cut. A slow disk is a file
system frozen for seconds at a time; a step of the clock is a preloaded `clock_gettime`, on the controller,
the fragments and their JVMs. A lost volume is a checkpoint that is not there, and comes back.

In the first 45 faults (seeds 102 and 103) the three queries had one controller, disk and clock."""


def stood_still(runs: list[dict[str, Any]]) -> list[str]:
    """The lines about runs that were ended for that."""
    if not runs:
        return []
    missing = sum(int(row["missing"]) for result in runs for row in result["audit"].values())
    seeds = " and ".join(str(result["seed"]) for result in runs)
    return [
        "",
        f"In {len(runs)} runs (seeds {seeds}) a query stood still for 420 s. They were ended there: "
        f"{missing:,} of their rows had not been delivered yet, and count as missing.",
    ]


def ended_by_itself(runs: list[dict[str, Any]]) -> list[str]:
    """The lines about the others."""
    counts = Counter[str]()
    for result in runs:
        for row in result["audit"].values():
            counts.update(row)
    faults = sum(len(result["faults"]) for result in runs)
    return [
        "",
        f"The other {len(runs)} runs, {faults:,} faults: missing {counts['missing']}, doubled "
        f"{counts['doubled']}, wrong {counts['wrong']} of {counts['rows']:,} rows.",
    ]


def page(results: list[dict[str, Any]], findings: str) -> str:
    """The page's text."""
    faults = [fault for result in results for fault in result["faults"]]
    inside = sum(fault["in_batch"] for fault in faults)
    counts = Counter[str]()
    for result in results:
        for row in result["audit"].values():
            counts.update(row)
    lines = [
        "# Faults at random",
        "",
        INTRODUCTION,
        "",
        f"{len(results)} runs, {len(faults)} faults, {inside} of them within a batch (planned, not "
        f"committed). Missing {counts['missing']}, doubled {counts['doubled']}, wrong {counts['wrong']} of "
        f"{counts['rows']:,} rows. `make chaos` goes on until there are 1,000 faults.",
        *stood_still([result for result in results if result["stuck"]]),
        *ended_by_itself([result for result in results if not result["stuck"]]),
        "",
        "| fault | struck | within a batch | lasted [s], median | back after [s], median | at most |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        of_kind = [fault for fault in faults if fault["kind"] == kind]
        if of_kind:
            back = [fault["recovery"] for fault in of_kind]
            lasted = median(fault["seconds"] for fault in of_kind)
            lines.append(
                f"| {kind} | {len(of_kind)} | {sum(f['in_batch'] for f in of_kind)} | {lasted:.1f} "
                f"| {median(back):.1f} | {max(back):.1f} |"
            )
    lines += [
        "",
        "Back after: from the fault's end until its fragment has planned and committed a further batch, on "
        "two cores shared with other work, with up to four faults at once; starts of Spark are most of it.",
        "",
        findings.strip(),
        "",
        "Each run (seed, commit, faults, audit) is a line of [chaos.jsonl](chaos.jsonl).",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(
        page([json.loads(line) for line in RESULTS.read_text().splitlines()], FINDINGS.read_text())
    )
