"""The flights in hosts: joins, windows and a union; one is left, one is killed, and every row is audited."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from weir_operator.controller.observed_state import Process
from weir_operator.local.audit import audit

from examples.flights.replay import ReplayShape, chosen, ticks, write
from tests.local.place import Place

EXAMPLE = Path(__file__).parents[2] / "examples" / "flights"
MORE = """---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {name: busy, namespace: default}
spec:
  sql: |
    SELECT d.month, d.flight, d.origin AS airport, d.dep_delay AS delay FROM departures d
    WHERE d.dep_delay > 60
    UNION ALL SELECT a.month, a.flight, a.dest, a.arr_delay FROM arrivals a WHERE a.arr_delay > 60
  sink: {files: {uri: out/demo/results/busy, format: parquet}}
  deliverTo: {zone: newyork}
  policy: flights
  profile: flights
---
apiVersion: v1
kind: Node
metadata: {name: newyork-2, labels: {topology.kubernetes.io/zone: newyork}}
status: {allocatable: {cpu: "4", memory: 8Gi}}
"""
PARTS = 4


class FlightsPlace(Place):
    """The example, a union, another node in New York, and a policy that shares processes. `feed(1)` writes a
    quarter of a day of a year's months."""

    def say(self, least: int = 10, cordoned: str = "false", text: str | None = None) -> None:
        names = ("streams", "queries", "cluster", "policy")
        parts = [(EXAMPLE / f"{name}.yaml").read_text() for name in names] + [MORE]
        whole = "\n---\n".join(part.removeprefix("---\n") for part in parts)
        for before, after in (
            ("topology: flights", "topology: flights\n  fragments: {isolation: Shared}"),
            (
                "metadata: {name: newyork-1, labels: {topology.kubernetes.io/zone: newyork}}",
                "metadata: {name: newyork-1, labels: {topology.kubernetes.io/zone: newyork}}\n"
                f"spec: {{unschedulable: {cordoned}}}",
            ),
        ):
            assert whole.count(before) == 1
            whole = whole.replace(before, after)
        shutil.copy(EXAMPLE / "sites-rtt.txt", self.folder)
        super().say(text=whole)

    def prepare(self) -> None:
        """What `feed` will write."""
        self.parts = [tables for _, tables in ticks(chosen(ReplayShape(12, 12, 24)))]
        for name in self.parts[0]:
            (self.folder / "out/demo/in" / name).mkdir(parents=True)

    def feed(self, batches: int, end: bool = False) -> None:
        size = -(-len(self.parts) // PARTS)
        for number in range(self.written, min(self.written + batches * size, len(self.parts))):
            for name, rows in self.parts[number].items():
                write(self.folder / "out/demo/in" / name, number, rows)
        self.written += batches * size
        for name in self.parts[0] if end else ():
            (self.folder / "out/demo/in" / name / "END").touch()

    def processes(self) -> list[Process]:
        """Those that are not stopped."""
        return [p for p in self.machine.cluster.processes.observe() if p.state != "stopped"]

    def until(self, holds: Callable[[], bool], what: str, seconds: float = 900.0) -> None:
        super().until(holds, what, seconds)

    def all_run(self, avoiding: str = "") -> bool:
        """Whether each fragment runs once, and none on a node."""
        alive = self.processes()
        runs = all(p.state == "running" and p.node != avoiding for p in alive)
        return runs and len({p.fragment for p in alive}) == len(alive) > 3

    def batches(self) -> dict[str, int]:
        """Committed by each fragment, over all its lives."""
        states = (self.folder / "run" / "checkpoints").glob("*/*/*/commits")
        return {
            path.parts[-3]: max((int(p.name) for p in path.iterdir() if p.name.isdigit()), default=-1)
            for path in states
        }

    def progress(self, since: dict[str, int]) -> bool:
        """Whether each has committed a batch since."""
        now = self.batches()
        return len(now) >= len(self.processes()) and all(now[name] > since.get(name, -1) for name in now)

    def kill_host(self, node: str) -> None:
        """That of a node: the process and all it has started."""
        hosts = self.machine.cluster.processes.hosts
        (host,) = (name for name in hosts.live() if name.startswith(node))
        pid = hosts.pid(host)
        assert pid is not None
        os.killpg(pid, signal.SIGKILL)

    def end(self) -> None:
        for machine in self.machines:
            machine.cluster.processes.stop_all()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FlightsPlace]:
    it = FlightsPlace(tmp_path)
    it.prepare()
    yield it
    it.end()


def test_joins_windows_and_unions_in_hosts_that_are_left_and_killed(place: FlightsPlace) -> None:
    place.feed(1)
    place.until(lambda: place.all_run() and place.progress({}), "all run")
    assert {p.node for p in place.processes()} == {"newyork-1", "west-1"}

    place.say(cordoned="true")
    place.feed(1)
    place.until(lambda: place.all_run("newyork-1"), "all have left newyork-1")

    before = place.batches()
    place.feed(1)
    place.kill_host("newyork-2")
    place.until(lambda: place.all_run("newyork-1") and place.progress(before), "all run there again")

    place.feed(1, end=True)
    place.until(lambda: all(p.state == "finished" for p in place.processes()), "the end")
    group = place.group()
    assert set(group.queries) == {
        f"default/{q}" for q in ("busy", "by-carrier", "delayed-weather", "made-up-time")
    }
    for name, desired in group.queries.items():
        verdict = audit(desired, group.problem.streams)
        assert verdict.rows > 0, name
        assert verdict.good, (name, verdict, verdict.examples)
