"""What faults befall: three queries under `weir run` on a disk of their own, a Kafka broker and an S3 server
behind wires, and sources that grow."""

from __future__ import annotations

import json
import os
import signal
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from weir_operator.controller.snapshot import Snapshot
from weir_operator.local.audit import audit
from weir_operator.local.machine import Machine, Options
from weir_placement.fragments import Knobs
from weir_runtime.audit import Verdict
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.faults import HOLD
from weir_runtime.lease import holder_is_gone

from tests.chaos.clock import Clock
from tests.chaos.disk import Disk
from tests.chaos.wire import Wire
from tests.kafka.broker import start_broker
from tests.runtime.replayer import Replayer
from tests.store.server import KEYS, start_server

HERE = Path(__file__).parent
QUERIES = ("folder", "topic", "store")
KNOBS = Knobs(trigger_ms=500, heap_mb=480)


@dataclass(frozen=True)
class Life:
    """A process of a fragment."""

    fragment: str
    query: str
    node: str
    pid: int
    state: Path
    checkpoints: Path  # one for each plan of the fragment

    @property
    def report(self) -> dict[str, object]:
        """What it says of itself."""
        with suppress(OSError, ValueError):
            return dict(json.loads(self.state.read_text()))
        return {"phase": ""}

    @property
    def planned(self) -> int:
        """The last batch of the fragment that is decided."""
        return max((Checkpoint(c).planned() for c in self._each()), default=-1)

    @property
    def committed(self) -> int:
        """The last batch of the fragment that is done."""
        return max((Checkpoint(c).committed() for c in self._each()), default=-1)

    @property
    def in_a_batch(self) -> bool:
        """Whether one is decided and not done."""
        return self.planned > self.committed

    def _each(self) -> Iterator[Path]:
        return self.checkpoints.glob("*[0-9a-f]")

    def signal(self, number: signal.Signals, session: bool = True) -> None:
        """To the process, or with its JVM and workers; nothing when it is gone."""
        with suppress(ProcessLookupError):
            (os.killpg if session else os.kill)(self.pid, number)

    @property
    def stands(self) -> bool:
        """Whether it was stopped."""
        with suppress(OSError):
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        return False


class Testbed:
    """Everything of a run below `root`; `stop` leaves its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = Disk(root / "disk")
        self.wires = {"topic": Wire(), "store": Wire()}
        self.store = start_server(root / "s3")
        try:
            self.broker = start_broker(root / "broker", line=self.wires["topic"].lead_to)
        except BaseException:
            self.store.stop()
            raise
        self.run_folder = self.disk.folder / "run"
        self.manifests = root / "queries.yaml"
        text = string.Template((HERE / "queries.yaml").read_text()).substitute(
            sources=root / "sources",
            disk=self.disk.folder,
            broker=f"127.0.0.1:{self.wires['topic'].port}",
            store=f"http://127.0.0.1:{self.wires['store'].lead_to(self.store.port)}",
        )
        self.manifests.write_text(text)
        self.cordon()
        self.holds = root / "holds"
        self.holds.mkdir()
        self.clock = Clock(root)
        self.replayers = [Replayer(root / "sources" / name, every=0.5) for name in "ab"]
        for replayer in self.replayers:
            replayer.start()
        self.controller = self.start_controller()

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
            for name in (f"{query}-{number}" for query in QUERIES for number in range(1, 5))
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
                query = entry["query"].split("/")[1]
                places = Path(entry["state"]), Path(spec["checkpoint"])
                life = Life(entry["fragment"], query, entry["node"], entry["pid"], *places)
                newest[entry["fragment"]] = entry["epoch"], life
        return [life for _, life in newest.values()]

    def delivered(self) -> bool:
        """Whether every query has delivered rows."""
        return all(any((self.disk.folder / "out" / query).glob("*.parquet")) for query in QUERIES)

    def finished(self) -> bool:
        """Whether every fragment has come to its end."""
        states = [json.loads(path.read_text()) for path in (self.run_folder / "state").glob("*/*-e*.json")]
        done = {state["fragment"] for state in states if state["phase"] == "finished"}
        return len(done) == 2 * len(QUERIES)

    def life(self, fragment: str) -> Life | None:
        """The fragment's process; None while there is none."""
        return next((life for life in self.lives() if life.fragment == fragment), None)

    def supervise(self) -> None:
        """Starts the controller again when it has ended."""
        if self.controller.poll() is not None:
            self.start_controller()

    def await_(self, condition: Callable[[], bool], seconds: float, supervised: bool = True) -> bool:
        """Whether it came true in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if supervised:
                self.supervise()
            with suppress(OSError, ValueError):
                if condition():
                    return True
            time.sleep(0.1)
        return False

    def verdicts(self) -> dict[str, Verdict]:
        """Each query's rows against the batch query."""
        options = Options(
            (str(self.manifests), str(self.root / "nodes.yaml")), self.run_folder, self.root, KNOBS
        )
        machine = Machine(options, lambda findings: None)
        seen = machine.cluster.observe()
        snapshot = Snapshot(time.time(), seen.objects, seen.processes, seen.leases)
        groups = machine.loop.desired_state(snapshot, machine.loop.settings).groups
        return {
            name.split("/")[1]: audit(desired, group.problem.streams)
            for group in groups
            for name, desired in group.queries.items()
        }

    def stop(self) -> None:
        """Every process ends."""
        for replayer in self.replayers:
            replayer.finish.set()
        self.controller.send_signal(signal.SIGINT)
        try:
            self.controller.wait(90)
        except subprocess.TimeoutExpired:
            self.controller.kill()
        for life in self.lives():
            life.signal(signal.SIGKILL)
        self.broker.stop()
        self.store.stop()
