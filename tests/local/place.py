"""A folder with manifests and a log that grows, and the controller on this machine over them."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
from weir_operator.controller.desired_state import Group
from weir_operator.local.machine import Machine, Options
from weir_placement.fragments import Knobs

MANIFESTS = """
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {{name: clicks}}
spec:
  schema: k BIGINT, v BIGINT, ts TIMESTAMP
  eventTime: {{column: ts, watermark: 1s}}
  source: {{files: {{uri: in/clicks, format: arrow}}}}
  origin: {{node: n1}}
  rate: 100
---
apiVersion: weir.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: near}}
spec: {{objective: network-usage, strategy: {{name: exact-dp}}}}
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {{name: sums}}
spec:
  sql: |
    SELECT c.k, window.end, count(*) AS n, sum(c.v) AS total FROM clicks c
    WHERE c.v > {least} GROUP BY c.k, window(c.ts, '10 seconds')
  sink: {{files: {{uri: out/sums, format: parquet}}}}
  deletionPolicy: Delete
  policy: near
---
apiVersion: v1
kind: Node
metadata: {{name: n1}}
spec: {{unschedulable: {cordoned}}}
status: {{allocatable: {{cpu: "2", memory: 8Gi}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: n2}}
status: {{allocatable: {{cpu: "1", memory: 8Gi}}}}
"""
DEADLINE = 240.0
"""[s] A condition that has not come by then never comes."""


def shared_manifests(least: int, cordoned: str) -> str:
    """MANIFESTS with a policy whose fragments share processes."""
    plain = MANIFESTS.format(least=least, cordoned=cordoned)
    shared = plain.replace("{name: exact-dp}}", "{name: exact-dp}, fragments: {isolation: Shared}}")
    assert shared != plain
    return shared


class Place:
    """A folder with manifests, a log and a machine over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "in" / "clicks"
        self.log.mkdir(parents=True)
        self.written = 0
        self.complaints: list[str] = []
        self.machines: list[Machine] = []
        self.say()
        self.machine = self.build()

    def say(self, least: int = 10, cordoned: str = "false", text: str | None = None) -> None:
        (self.folder / "all.yaml").write_text(text or MANIFESTS.format(least=least, cordoned=cordoned))

    def build(self) -> Machine:
        """A controller, as it starts after its predecessor was killed."""
        options = Options(
            (str(self.folder / "all.yaml"),), self.folder / "run", self.folder, Knobs(heap_mb=512)
        )
        self.machines.append(Machine(options, lambda findings: self.complaints.extend(map(str, findings))))
        return self.machines[-1]

    def feed(self, batches: int, end: bool = False) -> None:
        schema = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
        for number in range(self.written, self.written + batches):
            at = [1_700_000_000_000_000 + number * 1_000_000 + i * 9_973 for i in range(100)]
            rows = [[i % 7 for i in range(100)], [(i * number) % 50 for i in range(100)], at]
            columns = [pa.array(values, field.type) for values, field in zip(rows, schema, strict=True)]
            temporary = self.log / f".{number}"
            with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, schema) as writer:
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            os.rename(temporary, self.log / f"{number:010d}.arrow")
        self.written += batches
        if end:
            (self.log / "END").touch()

    def until(self, holds: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
        begin = time.monotonic()
        while True:
            self.machine.loop.once()
            if holds():
                return
            assert time.monotonic() - begin < seconds, f"{what} did not come: {self.states()}\n{self.logs()}"
            time.sleep(0.3)

    def pid(self, fragment: str, epoch: int) -> int:
        path = self.folder / "run" / "processes" / f"{fragment}-e{epoch}.json"
        return int(json.loads(path.read_text())["pid"])

    def states(self) -> dict[tuple[str, int], tuple[str, str]]:
        return {(p.fragment, p.epoch): (p.node, p.state) for p in self.machine.cluster.processes.observe()}

    def running_on(self, node: str) -> bool:
        return any(s == (node, "running") for s in self.states().values())

    def committed(self, batches: int) -> bool:
        snapshot = self.machine.loop.observed
        return bool(snapshot and any(m.batches >= batches for m in snapshot.metrics.values()))

    def logs(self) -> str:
        files = (self.folder / "run" / "logs").glob("*.log")
        return "\n".join(f.read_text()[-2000:] for f in files)

    def group(self) -> Group:
        """The queries as they are asked for now."""
        loop = self.machine.loop
        assert loop.observed is not None
        return loop.desired_state(loop.observed, loop.settings).groups[0]

    def end(self) -> None:
        """Leaves no process behind."""
        for process in self.machine.cluster.processes.observe():
            if process.state not in ("stopped", "finished", "failed"):
                os.killpg(self.pid(process.fragment, process.epoch), signal.SIGKILL)
        for machine in self.machines:
            machine.cluster.processes.stop_all()  # waits also for what a controller that is gone had started
