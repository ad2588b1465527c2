"""`python -m weir_runtime.host HOST.json`: several fragments in one Spark application.

What is to run is read in one place, what runs is said in another (`host_orders`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentError
from weir_placement.model.from_plain import FormError, build_plain

from weir_runtime import secrets, thread_clients
from weir_runtime.cpu import CpuMeter, SharedCpu
from weir_runtime.host_fragment import MB, Turn
from weir_runtime.host_member import Commons, Member
from weir_runtime.host_status import HostStatus
from weir_runtime.incarnations import Incarnations
from weir_runtime.kubernetes_lease import SCHEME
from weir_runtime.locations import lease_at, orders_at
from weir_runtime.metrics import Metrics
from weir_runtime.open_files import share_open
from weir_runtime.process import EXIT_TERMINATED
from weir_runtime.session import END_ON_OOM, OOM_CODES, Sessions, end, jvm_code, jvm_pid, start_session
from weir_runtime.status import STUCK

LOOK = 0.2
"""[s] between two looks at what is to run."""

GOES = 5.0
"""[s] for a JVM that does not answer to be gone."""

FILES_LOOK = 30.0
"""[s] between two looks at how many files are open."""

MOST_FILES = 0.8
"""Of those that the JVM may have open; with more the host makes room for the next one in order."""

SLOTS = 4
"""Tasks a core at once. Spark interrupts none for another one's sake, so a task that takes long would keep
its core for itself; the kernel lets all have their turn."""

SETTINGS = {
    "spark.scheduler.mode": "FAIR",
    "spark.sql.streaming.stateStore.numStateStoreMaintenanceThreads": "2",
    # Another query on a checkpoint that is in use is an error, not the end of the one that uses it.
    "spark.sql.streaming.stopActiveRunOnRestart": "false",
    # A query that does not stop is a reason to end the host, not to wait for ever.
    "spark.sql.streaming.stopTimeout": "60s",
}


@dataclass(frozen=True)
class HostSpec:
    """One host.

    Attributes:
        lease, desired, state: where its lease lies, what it shall run, and what it says it runs: files, or
            `kubernetes:NAMESPACE/NAME`.
        cores, heap_mb: of its JVM.
        lease_seconds: a lease that was not renewed for so long is over.
        batch_seconds: a batch that runs longer is cut off.
        port: of /metrics, /healthz, /readyz and /fragments; 0: none of them.
    """

    name: str
    lease: str
    desired: str
    state: str
    cores: int = 1
    heap_mb: int = 1024
    lease_seconds: float = 10.0
    batch_seconds: float = STUCK
    port: int = 0

    @staticmethod
    def read(path: Path) -> HostSpec:
        """Raises FormError, OSError, ValueError."""
        spec = build_plain(HostSpec, json.loads(path.read_text()), "host")
        assert isinstance(spec, HostSpec)
        return spec


class Host:
    """Makes what runs equal to what is wanted, until it is told to stop."""

    def __init__(self, spec: HostSpec, spark: SparkSession, status: HostStatus | None = None) -> None:
        self.spec = spec
        self.status = status
        self.stopping = threading.Event()
        self.incarnations = Incarnations(lease_at(spec.lease, "host.lease"), spec.lease, spec.lease_seconds)
        self._files_at = 0.0  # [s, monotonic] when to look at open files
        self._orders = orders_at(spec.desired, spec.state)
        self.members: dict[str, Member] = {}
        self._said_before: Mapping[str, Any] | None = None  # by a life before; None: not read yet
        cpu = SharedCpu(CpuMeter(os.getpid()))
        self._common = Commons(Sessions(spark), self.incarnations, cpu, Turn(), spec.batch_seconds)
        if status is not None:
            status.view = self

    def run(self) -> int:
        """The process's exit code: 143 when told to stop, 1 when its JVM or a query left it no choice."""
        self.incarnations.start()
        while not self.stopping.is_set():
            if (code := jvm_code()) is not None:
                return self._end_without(code)
            self.look()
            self._look_at_files()
            if stuck := [member for member in self.members.values() if member.stuck]:
                if (code := jvm_code(wait=GOES)) is not None:
                    return self._end_without(code)  # queries of a JVM that is gone do not stop either
                stuck[0].alone = f"its host had to end: {stuck[0].error}"
                self.say()
                print(f"ends, because of {stuck[0].key}: {stuck[0].error}", file=sys.stderr)
                return 1
            self.stopping.wait(LOOK)
        for member in self.members.values():
            member.stop()
        for member in self.members.values():
            member.join()
        self.say()
        self.incarnations.release()
        return EXIT_TERMINATED

    def _end_without(self, code: int) -> int:
        """The JVM is gone, and every fragment with it. Where it had no memory left, the one that needs most
        is to have a process of its own."""
        why = f"its JVM ended with {code}"
        if code in OOM_CODES and self.members:
            largest = max(self.members.values(), key=lambda member: member.suspicion)
            sizes = ", ".join(f"{member.key} {member.size / MB:.0f} MB" for member in self.members.values())
            why = f"its JVM of {self.spec.heap_mb} MB had no memory left (state and batch: {sizes})"
            largest.alone = f"out of memory: the largest fragment of a host when {why}"
        self.say()
        print(f"ends: {why}", file=sys.stderr)
        return 1

    def _look_at_files(self) -> None:
        """Spark leaves two open for each start of a source: all are told to stop before it can open none."""
        pid, now = jvm_pid(), time.monotonic()
        if pid is None or now < self._files_at:
            return
        self._files_at = now + FILES_LOOK
        with suppress(OSError):
            if (share := share_open(pid)) > MOST_FILES:
                print(f"its JVM has {share:.0%} of the files open that it may: restarting", file=sys.stderr)
                self.stopping.set()

    def look(self) -> None:
        """One look at what is wanted, and one step towards it."""
        if self.status is not None:
            self.status.beat()
        wanted = self._wanted()
        if wanted is not None:
            self._said_before = {k: about for k, about in (self._said_before or {}).items() if k in wanted}
            for key, raw in wanted.items():
                if key not in self.members or self.members[key].has_stopped:
                    self.members[key] = Member(key, raw, self._common, self._alone_before(key))
            for key in self.members.keys() - wanted.keys():
                self.members[key].stop()
                if not self.members[key].alive:
                    del self.members[key]
                    thread_clients.close_of_ended()
        for member in self.members.values():
            member.look()
        self.say()

    def _wanted(self) -> Mapping[str, Any] | None:
        """None: not known now; then everything stays as it is."""
        try:
            if self._said_before is None:
                self._said_before = self._orders.said()
            return self._orders.read()
        except (OSError, ValueError) as error:
            print(f"{self.spec.desired}: {error}", file=sys.stderr)
            return None

    def _alone_before(self, key: str) -> str:
        """Whoever has made an end of a life before must not make one of this, too, until it is taken out."""
        return str((self._said_before or {}).get(key, {}).get("alone") or "")

    def say(self) -> None:
        """Where its orders come from, when something is new; not over what has not been read yet."""
        if self._said_before is None:
            return
        self._orders.say(self.state())

    def state(self) -> dict[str, Any]:
        """As it is said."""
        return {
            "name": self.spec.name,
            "pid": os.getpid(),
            "incarnation": self.incarnations.present(),
            "fragments": {key: member.said() for key, member in [*self.members.items()]},
        }

    def metrics(self) -> dict[str, Metrics]:
        """Of attempts that are under way."""
        of_members = ((key, member.metrics) for key, member in [*self.members.items()])
        return {key: metrics for key, metrics in of_members if metrics is not None}

    def is_ready(self) -> bool:
        """Whether its incarnation is confirmed."""
        return self.incarnations.present() is not None


def main(arguments: list[str]) -> int:
    """2: it cannot be run as written."""
    if len(arguments) != 1:
        print("usage: python -m weir_runtime.host HOST.json", file=sys.stderr)
        return 2
    try:
        spec = HostSpec.read(Path(arguments[0]))
    except (FormError, OSError, ValueError) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 2
    status = HostStatus(spec.port) if spec.port else None
    # In this thread: the kernel ends the JVM with the thread that has started it.
    settings = {**SETTINGS, "spark.master": f"local[{SLOTS * spec.cores}]"}
    spark = start_session(spec.cores, spec.heap_mb, spec.name, settings=settings, options=END_ON_OOM)
    try:
        host = Host(spec, spark, status)
    except FragmentError as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 2
    if spec.desired.startswith(SCHEME):  # also as a variable, which only another process has
        secrets.watch(host.stopping.set, host.stopping)
    signal.signal(signal.SIGTERM, lambda *_: host.stopping.set())
    return host.run()


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    end()
    os._exit(code)  # attempts that are under way end with their JVM
