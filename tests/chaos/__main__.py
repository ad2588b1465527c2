"""`python -m tests.chaos`: runs until so many faults have struck in all, going on where it stopped. An
interrupt ends the run under way early, with its audit."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos.faults import KINDS
from tests.chaos.run import StruckFault, run

ROOT = Path(__file__).parents[2]
RUNS = Path("out/chaos")
RESULTS = Path("docs/benchmarks/chaos.jsonl")


def main() -> int:
    """0 when every run was right."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--until", type=int, default=1000, help="faults in all, with those of earlier runs")
    parser.add_argument("--each", type=int, default=100, help="faults of a run")
    parser.add_argument("--seed", type=int, help="run this seed alone")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which faults, as often as they stand there")
    parser.add_argument("--least", type=int, default=0, help="faults of a run within a batch, or it fails")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    args.results.parent.mkdir(parents=True, exist_ok=True)
    lines = args.results.read_text().splitlines() if args.results.exists() else []
    earlier = [json.loads(line) for line in lines]
    total, seed = sum(len(r["faults"]) for r in earlier), max((r["seed"] for r in earlier), default=0)
    bad = 0
    interrupted = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    while not interrupted.is_set() and (args.seed or total < args.until):
        seed = args.seed or seed + 1
        faults = args.each if args.seed else min(args.each, args.until - total)
        result = one_run(seed, faults, args, interrupted.is_set)
        total += len(result["faults"])
        bad += not is_right(result) or within(result) < args.least
        with args.results.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"seed {seed}: {summary(result)}; {total} faults in all", flush=True)
        if args.seed:
            break
    return 1 if bad else 0


def one_run(seed: int, faults: int, args: argparse.Namespace, enough: Callable[[], bool]) -> dict[str, Any]:
    """Its result; the run's folder goes when all is right."""
    root = (RUNS / f"run-{seed}").resolve()
    shutil.rmtree(root, ignore_errors=True)
    struck = 0

    def tell(fault: StruckFault) -> None:
        nonlocal struck
        struck += 1
        where = "in a batch" if fault.in_batch else ""
        print(
            f"seed {seed} [{'#' * (20 * struck // faults):20}] {struck}/{faults} {fault.kind} of "
            f"{fault.fragment} {fault.aimed}: back after {fault.recovery:.1f} s {where}",
            flush=True,
        )

    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()
    result = {"commit": commit} | run(seed, faults, root, args.kinds.split(","), tell, enough)
    if is_right(result):
        subprocess.run(["umount", "--lazy", *map(str, root.glob("*/disk"))], check=True)
        shutil.rmtree(root)
    return result


def is_right(result: dict[str, Any]) -> bool:
    """Nothing stuck, nothing missing, doubled or wrong."""
    counts = [v for row in result["audit"].values() for k, v in row.items() if k != "rows"]
    return not result["stuck"] and not any(counts) and len(counts) == 9


def within(result: dict[str, Any]) -> int:
    """Faults that struck within a batch."""
    return sum(fault["in_batch"] for fault in result["faults"])


def summary(result: dict[str, Any]) -> str:
    """One line."""
    rows = "; ".join(
        f"{name} {row['rows']} rows, missing {row['missing']}, doubled {row['doubled']}, wrong {row['wrong']}"
        for name, row in result["audit"].items()
    )
    stuck = f"; STUCK: {result['stuck']}" if result["stuck"] else ""
    inside, faults = within(result), len(result["faults"])
    return f"{faults} faults, {inside} in a batch, {result['seconds']:.0f} s; {rows}{stuck}"


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
