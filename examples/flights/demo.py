"""`make demo`: plan the flights queries, run them, let the load rise, move what must move, audit every row.

Nothing here is canned: the plan, the moves and the audit follow from the manifests beside this file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from weir_operator.cli.progress import progress
from weir_operator.controller.decision import Event
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.observed_state import Process
from weir_operator.controller.record import Record, read_record
from weir_operator.controller.statistics import measured_by_fragment
from weir_operator.local.audit import audit
from weir_operator.local.machine import Machine, Options
from weir_operator.local.pauses import Pauses
from weir_operator.pictures.draw import picture
from weir_placement.cost.evaluation import evaluate
from weir_placement.fragments import Knobs
from weir_placement.model.plan import Plan, Result
from weir_placement.objectives import OBJECTIVES
from weir_placement.report import report
from weir_runtime.audit import Verdict

HERE = Path(__file__).parent
OUT = Path("out/demo")
MANIFESTS = tuple(
    str(HERE / name) for name in ("streams.yaml", "queries.yaml", "cluster.yaml", "policy.yaml")
)


@dataclass
class Demo:
    """One run. `seconds` is the length of the replay; after `limit` [s] it ends whatever has happened, and
    what is not done by then fails the audit."""

    seconds: int
    limit: float
    console: Console
    machine: Machine = field(init=False)
    pauses: Pauses = field(init=False)
    begin: float = field(default_factory=time.monotonic)
    cold: str = ""  # the query whose fragment is moved back cold, for comparison
    dropped: float = 0.0
    loaded: dict[str, Any] = field(default_factory=dict)  # the first plan that the load has led to
    why: str = ""  # the reason of the latest plan
    replayer: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        knobs = Knobs(trigger_ms=2000, heap_mb=512)
        options = Options(MANIFESTS, OUT / "run", Path("."), knobs, Path(".weir/calibration.json"))
        self.machine = Machine(options, self._complain)
        self.machine.cluster.store.attend()
        self.machine.cluster.on_event(self._event)
        self.pauses = Pauses(options.root)

    def run(self) -> int:
        """The exit status: 0 when every row is right, and a fragment has moved."""
        try:
            with Live(console=self.console, refresh_per_second=2, transient=True) as live:
                self._until(live, self._all_run, "starting")
                before = self._draw("before")
                command = [sys.executable, "-m", "examples.flights.replay", str(OUT / "in")]
                self.replayer = subprocess.Popen([*command, "--seconds", str(self.seconds)])
                self.console.print(f"[{self._clock()}] the flights begin: an hour of 2013 is a second")
                self._until(live, self._all_finished, "running")
            self._draw("moves", before, self.loaded or self._plan())
            return self._report()
        finally:
            if self.replayer is not None:
                self.replayer.terminate()
                self.replayer.wait()
            self.machine.stop()

    # -- rounds

    def _until(self, live: Live, done, what: str) -> None:  # type: ignore[no-untyped-def]
        while time.monotonic() - self.begin < self.limit:
            self.machine.loop.once()
            snapshot = self.machine.loop.observed
            assert snapshot is not None
            self.pauses.look(snapshot.processes)
            self.dropped = max([self.dropped, *(m.dropped_rows for m in snapshot.metrics.values())])
            self._note()
            if not self.loaded and any(record.revision > 1 for record in self._records()):
                self.loaded = self._draw("after")
            self._move_one_back_cold()
            live.update(Group(f"{self._clock()} {what}", progress(self.machine.loop, self.console.width)))
            if snapshot.processes and done(snapshot.processes):
                return
            if self.replayer is not None and self.replayer.poll():
                raise SystemExit(f"the replay of the rows ended with {self.replayer.returncode}: see above")
            time.sleep(self.machine.options.period)
        self.console.print(f"[red]not done after {self.limit:.0f} s")

    def _note(self) -> None:
        """One line a round: what was measured and what the loop made of it (for plots, and to look into)."""
        loop = self.machine.loop
        assert loop.observed is not None
        readings = measured_by_fragment(loop.observed.previous_metrics, loop.observed.metrics)
        line = {
            "at": round(time.monotonic() - self.begin, 1),
            "headroom": {n: v.get("headroom") for n, v in loop.last.explain.items()},
            "rates": next((v["rates"] for v in loop.last.explain.values() if v.get("rates")), {}),
            "cores": {n: round(m.cpu / 1e6, 3) for n, m in readings.items()},
            "batch": {n: round(m.batch_seconds, 2) for n, m in loop.observed.metrics.items()},
        }
        with open(OUT / "rounds.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")

    @staticmethod
    def _all_run(processes: tuple[Process, ...]) -> bool:
        return all(p.state == "running" for p in processes)

    @staticmethod
    def _all_finished(processes: tuple[Process, ...]) -> bool:
        return all(p.state == "finished" for p in processes)

    def _move_one_back_cold(self) -> None:
        """Once a warm move is through, the same fragment goes back without a standby, by a rollback."""
        through = [p for p in self.pauses.finished.values() if p.warm]
        if self.cold or not through or time.monotonic() - self.begin > self.limit - 120:
            return
        record = next((r for r in self._records() if r.revision > 1), None)
        if record is None:
            return
        self.cold = record.query
        loop = self.machine.loop
        loop.settings = replace(loop.settings, standby=False)
        self.machine.cluster.store.set_revision(record.query, pinned=record.revision - 1)
        self.console.print(f"[{self._clock()}] for comparison: {record.query} goes back cold (weir rollback)")

    def _records(self) -> list[Record]:
        return [read_record(o) for o in self.machine.cluster.store.placements()]

    # -- what is said

    def _clock(self) -> str:
        return f"{time.monotonic() - self.begin:5.1f} s"

    def _event(self, event: Event) -> None:
        self.console.print(f"[{self._clock()}] {event.query}: {event.reason}: {event.message}", markup=False)
        if event.reason == "Planned" and not self.loaded:
            self.why = f"{event.query}: {event.message}"

    def _complain(self, findings: list) -> None:  # type: ignore[type-arg]
        for finding in findings:
            self.console.print(str(finding), style="red", markup=False)

    def _desired_state(self) -> DesiredState:
        loop = self.machine.loop
        assert loop.observed is not None
        return loop.desired_state(loop.observed, loop.settings)

    def _plan(self) -> dict[str, Any]:
        """The report of the plans in force, at the rates that the loop has measured, if it has."""
        loop, group = self.machine.loop, self._desired_state().groups[0]
        measured = [v["rates"] for v in loop.last.explain.values() if v.get("rates")]
        problem = replace(group.problem, profile=tuple(measured[:1])) if measured else group.problem
        records = {r.query: r for r in self._records()}
        plans = tuple(records[n].plan for n in group.queries if n in records)
        plan = Plan(tuple(p for p in plans if p is not None))
        name, objective = group.policy.strategy.name, OBJECTIVES[group.policy.objective]
        value = objective.value(evaluate(problem, plan))
        return report(problem, Result(plan, name, objective.name, value, None, False, 0, 0.0))

    def _draw(
        self, name: str, before: dict[str, Any] | None = None, plan: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Draws a plan, by default that in force, and what has changed since `before`; returns the plan."""
        plan = plan or self._plan()
        zones = {node.name: node.zone for node in self._desired_state().groups[0].problem.cluster.nodes}
        (OUT / f"plan-{name}.svg").write_bytes(picture(plan, "svg", zones, before, self.why))
        (OUT / f"plan-{name}.png").write_bytes(picture(plan, "png", zones, before, self.why))
        return plan

    def _report(self) -> int:
        """Moves, audit, pictures."""
        moves = Table(
            "fragment", "from", "to", "standby", "pause s", "gap s", "batch interval s", title="Moves"
        )
        for pause in self.pauses.finished.values():
            kind = "warm" if pause.warm else "cold"
            numbers = (f"{pause.pause:.2f}", f"{pause.gap:.2f}", f"{pause.normal:.2f}")
            moves.add_row(pause.fragment, pause.source, pause.target, kind, *numbers)
        self.console.print(moves)
        verdicts = Table(
            "query", "rows", "missing", "doubled", "wrong", title="Audit against one batch query"
        )
        judged: dict[str, Verdict] = {}
        total = [0, 0, 0]
        for group in self._desired_state().groups:
            for name, desired in group.queries.items():
                verdict = judged[name] = audit(desired, group.problem.streams)
                counts = [verdict.missing, verdict.doubled, verdict.wrong]
                total = [a + b for a, b in zip(total, counts, strict=True)]
                verdicts.add_row(name, str(verdict.rows), *map(str, counts))
        self.console.print(verdicts)
        faults = shortcomings(judged, len(self.pauses.finished), self.dropped)
        for fault in faults:
            self.console.print(fault, style="red", markup=False)
        self.console.print(f"missing {total[0]}, doubled {total[1]}, wrong {total[2]}")
        pictures = f"{OUT}/plan-moves.svg (what moved), {OUT}/plan-before.svg"
        if self.loaded:
            pictures += f", {OUT}/plan-after.svg"
        self.console.print(f"pictures: {pictures} ({self._clock()} in all)")
        return 1 if faults else 0


def shortcomings(verdicts: Mapping[str, Verdict], moves: int, dropped: float) -> list[str]:
    """Why a run has not shown what it is for; empty when it has.

    Args:
        verdicts: the audit's, by query.
        moves: how many fragments have moved.
        dropped: rows that Spark has dropped as late inside a fragment.
    """
    faults = [f"{name}: {verdict}" for name, verdict in verdicts.items() if not verdict.good]
    faults += [f"{name}: no rows, right or wrong" for name, v in verdicts.items() if not v.rows]
    if not verdicts:
        faults.append("there is no query to audit")
    if not moves:
        faults.append("no fragment has moved, though the load rose")
    if dropped:
        faults.append(f"{dropped:.0f} rows were dropped as late inside a fragment")
    return faults


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="the flights example, from plan to audit")
    parser.add_argument("--seconds", type=int, default=150, help="length of the replay")
    parser.add_argument("--limit", type=float, default=290.0, help="it ends after so many seconds")
    arguments = parser.parse_args()
    return Demo(arguments.seconds, arguments.limit, Console()).run()


if __name__ == "__main__":
    sys.exit(main())
