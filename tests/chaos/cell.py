"""One query under a `weir run` of its own, and all that a fault can strike there."""

from __future__ import annotations

import json
import os
import signal
import string
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml
from weir_operator.controller.observed_state import ObservedState
from weir_operator.local.audit import audit
from weir_operator.local.machine import Machine, Options
from weir_placement.fragments import Knobs
from weir_runtime.audit import Verdict
from weir_runtime.faults import HOLD
from weir_runtime.lease import holder_is_gone

from tests.chaos.clock import SteppedClock
from tests.chaos.disk import Disk
from tests.chaos.life import Life
from tests.chaos.wire import Wire
from tests.kafka.broker import Broker
from tests.store.server import KEYS, StoreServer

T = TypeVar("T")
MANIFESTS = Path(__file__).with_name("queries.yaml")
KNOBS = Knobs(trigger_ms=2000, heap_mb=480)
"""Most of the processor is for starts of Spark, of which a second of all batches would leave little."""


@dataclass(frozen=True)
class Remote:
    """The broker or store of the query's flow, and the wire to it."""

    server: Broker | StoreServer
    wire: Wire


class Cell:
    """A query with a disk, a clock and nodes of its own below `root`: two fragments and their controller.
    `places` fill in the manifests. `stop` leaves its files."""

    def __init__(self, query: str, root: Path, places: Mapping[str, str], remote: Remote | None) -> None:
        self.query = query
        self.root = root
        self.remote = remote
        self.disk = Disk(root / "disk")
        self.run_folder = self.disk.folder / "run"
        self.manifests = root / "query.yaml"
        text = string.Template(MANIFESTS.read_text()).substitute(places, disk=self.disk.folder)
        self.manifests.write_text("---\n".join(filter(self._is_own, text.split("---\n"))))
        self.cordon()
        self.holds = root / "holds"
        self.holds.mkdir()
        self.clock = SteppedClock(root)
        self.controller = self.start_controller()

    def _is_own(self, manifest: str) -> bool:
        """Streams are everybody's."""
        about = yaml.safe_load(manifest)
        return about["kind"] == "Stream" or about["metadata"]["name"] == self.query

    def start_controller(self) -> subprocess.Popen[bytes]:
        """`weir run`; fragments that run go on."""
        environment = {**os.environ, **KEYS, **self.clock.environment, HOLD: str(self.holds)}
        command = [sys.executable, "-c", "import sys; from weir_operator.cli import main; sys.exit(main())"]
        command += ["run", "-f", str(self.manifests), "-f", str(self.root / "nodes.yaml")]
        command += ["--run-folder", str(self.run_folder)]
        command += ["--heap", str(KNOBS.heap_mb), "--trigger", str(KNOBS.trigger_ms)]
        with (self.root / "controller.log").open("ab") as log:
            self.controller = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, cwd=self.root, start_new_session=True
            )
        return self.controller

    def supervise(self) -> None:
        """Starts the controller again when it has ended."""
        if self.controller.poll() is not None:
            self.start_controller()

    def cordon(self, *nodes: str) -> None:
        """These get nothing new, and what they have moves; all others are free."""
        documents = [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name},
                "spec": {"unschedulable": name in nodes},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}},
            }
            for name in (f"{self.query}-{number}" for number in range(1, 5))
        ]
        temporary = self.root / ".nodes.yaml"
        temporary.write_text("\n---\n".join(map(json.dumps, documents)))
        temporary.rename(self.root / "nodes.yaml")

    def lives(self) -> list[Life]:
        """The newest of each fragment's processes that are there."""
        newest: dict[str, tuple[int, Life]] = {}
        for path in sorted((self.run_folder / "processes").glob("*.json")):
            if path.name.endswith(".spec.json"):
                continue
            with suppress(OSError, ValueError):
                entry = json.loads(path.read_text())
                spec = json.loads(path.with_suffix(".spec.json").read_text())
                if entry["epoch"] < newest.get(entry["fragment"], (0,))[0] or holder_is_gone(entry["holder"]):
                    continue
                places = Path(entry["state"]), Path(spec["checkpoint"])
                life = Life(entry["fragment"], entry["node"], entry["pid"], entry["holder"], *places)
                newest[entry["fragment"]] = entry["epoch"], life
        return [life for _, life in newest.values()]

    def life(self, fragment: str) -> Life | None:
        """The fragment's process; None while there is none."""
        return next((life for life in self.lives() if life.fragment == fragment), None)

    def delivered(self) -> bool:
        """Whether the query has delivered rows."""
        return any((self.disk.folder / "out" / self.query).glob("*.parquet"))

    def finished(self) -> bool:
        """Whether both fragments have come to their end."""
        states = [json.loads(path.read_text()) for path in (self.run_folder / "state").glob("*/*-e*.json")]
        return len({state["fragment"] for state in states if state["phase"] == "finished"}) == 2

    def verdict(self) -> Verdict:
        """The query's rows against the batch query."""
        options = Options(
            (str(self.manifests), str(self.root / "nodes.yaml")), self.run_folder, self.root, KNOBS
        )
        machine = Machine(options, lambda findings: None)
        seen = machine.cluster.observe()
        snapshot = ObservedState(time.time(), seen.objects, seen.processes, seen.leases)
        (group,) = machine.loop.desired_state(snapshot, machine.loop.settings).groups
        (desired,) = group.queries.values()
        return audit(desired, group.problem.streams)

    def stop(self) -> None:
        """Every process ends."""
        self.controller.send_signal(signal.SIGINT)
        try:
            self.controller.wait(90)
        except subprocess.TimeoutExpired:
            self.controller.kill()
        for life in self.lives():
            life.signal(signal.SIGKILL)


def wait_for(holds: Callable[[], T], seconds: float) -> T | None:
    """Its first true value, if one came in time; files that are just being written are read again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError, ValueError):
            if value := holds():
                return value
        time.sleep(0.1)
    return None
