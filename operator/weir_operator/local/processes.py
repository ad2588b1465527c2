"""Fragments as processes of this machine; their records are on disk, so that a new controller finds them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from weir_runtime.lease import holder_is_gone, holder_name
from weir_runtime.names import read_json, write_whole
from weir_runtime.scratch import sweep

from weir_operator.controller.decision import Start
from weir_operator.controller.observed_state import Process, ProcessState
from weir_operator.local.hosts import Hosts, SharingClass
from weir_operator.local.seconds import seconds_since

PHASES: dict[str, ProcessState] = {
    "starting": "starting",
    "standby-ready": "standby",
    "running": "running",
    "draining": "running",
    "released": "stopped",
    "stopped": "stopped",
    "fenced": "stopped",
    "finished": "finished",
    "failed": "failed",
}
WELL = 600.0
"""[s] after which a process has run well, as for the kubelet: if it fails then, its restarts and the waits
before them are counted from the beginning."""
ALIVE = ("starting", "standby", "running")
HOST_HEAP_MB = 1024
HOST_GRACE = 90.0
"""[s] after which a host that does not stop is killed: it waits longer for a batch that does not end."""
GRACE = 30.0
"""[s] A process that does not stop within this time is killed."""


class Processes:
    """Starts, watches and ends `python -m weir_runtime SPEC`, or the same in a host; one JSON file for each
    (fragment, epoch)."""

    def __init__(self, root: Path) -> None:
        self.hosts = Hosts(root)
        self._folder = root / "processes"
        self._apart = root / "hosts" / "apart.json"
        self._logs = root / "logs"
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def observe(self) -> tuple[Process, ...]:
        """Every process that was started and is not yet removed."""
        self._reap()
        apart = self._set_apart()
        return tuple(self._process(entry, apart) for entry in self._entries())

    def start(self, start: Start, environment: Mapping[str, str], shared: bool = False) -> None:
        """Idempotent: a live process is left alone; a failed one is restarted, after longer each time. With
        `shared`, in the host of its class and node."""
        path = self._path(start.spec.name, start.spec.epoch)
        entry, is_apart = read_json(path), start.spec.name in self._read_apart()
        if entry and "host" in entry and is_apart:
            if not self._has_left_host(entry, path.stem):
                return
            path.unlink(missing_ok=True)
            entry = None
        if "host" in entry if entry else shared and not is_apart:
            self._start_in_host(start, environment, entry)
            return
        if entry and not self._has_gone(entry):
            return
        restarts, before = 0, ""
        if entry:
            before = self._process(entry, {}).message
            passed = seconds_since(entry, "began")
            restarts = entry["restarts"] + 1 if passed < WELL else 1
            if restarts > 1 and passed < min(2.0**restarts, 60.0):
                return
        spec_path = path.with_suffix(".spec.json")
        write_whole(spec_path, start.spec.to_json())
        Path(start.spec.state).unlink(missing_ok=True)
        self._logs.mkdir(parents=True, exist_ok=True)
        with open(self._logs / f"{path.stem}.log", "ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "weir_runtime", str(spec_path)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt of the terminal is the controller's alone
                env={**os.environ, **environment, "PYSPARK_PYTHON": sys.executable},
            )
        self._children[child.pid] = child
        own = {"pid": child.pid, "holder": holder_name(child.pid), "began": time.monotonic()}
        record = {**_record(start), **own, "restarts": restarts, "before": before}
        write_whole(path, json.dumps(record))

    def _start_in_host(
        self, start: Start, environment: Mapping[str, str], entry: dict[str, Any] | None
    ) -> None:
        """Its host starts it again when it fails; that is looked after here when it has ended."""
        path, spec = self._path(start.spec.name, start.spec.epoch), start.spec
        if entry is None:
            namespace = start.query.split("/")[0]
            host = SharingClass(namespace, start.policy, environment).host(spec.node)
            Path(spec.state).unlink(missing_ok=True)
            write_whole(path.with_suffix(".spec.json"), spec.to_json())
            entry = {**_record(start), "host": host, "restarts": 0}
            write_whole(path, json.dumps(entry))
        if "stopping" not in entry:
            self.hosts.order(entry["host"], path.stem, spec)
            cores = max(spec.cores, min(2, os.cpu_count() or 1))
            self.hosts.run(entry["host"], environment, cores, max(HOST_HEAP_MB, spec.heap_mb))

    def _read_apart(self) -> dict[str, str]:
        """Fragments that are kept out of hosts, and why."""
        return read_json(self._apart) or {}

    def forget(self, fragment: str) -> None:
        """It is no more: nothing is known of one of its name."""
        apart = self._read_apart()
        if apart.pop(fragment, None) is not None:
            write_whole(self._apart, json.dumps(apart))

    def _set_apart(self) -> dict[str, str]:
        """Fragments that should be alone, as their host says, leave it before it is started again; all that
        are kept out of hosts, and why."""
        apart = self._read_apart()
        for entry in self._entries():
            why = self.hosts.alone(entry["host"], _key(entry)) if "host" in entry else ""
            if why and "stopping" not in entry:
                self.hosts.withdraw(entry["host"], _key(entry))
                if entry["fragment"] not in apart:
                    apart[entry["fragment"]] = why
                    write_whole(self._apart, json.dumps(apart))
        return apart

    def stop(self, fragment: str, epoch: int) -> None:
        """SIGTERM, then SIGKILL; the record of an ended process is removed."""
        path = self._path(fragment, epoch)
        entry = read_json(path)
        if entry is None:
            return
        if "host" in entry:
            self.hosts.withdraw(entry["host"], path.stem)
        left = "stopping" in entry and self._has_left_host(entry, path.stem)
        if self._has_gone(entry) or left:
            path.with_suffix(".spec.json").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            self.hosts.stop_idle()
            sweep()  # it may have been killed
            return
        if "stopping" not in entry:
            write_whole(path, json.dumps({**entry, "stopping": time.monotonic()}))
            if "host" not in entry:
                _signal(entry, signal.SIGTERM)
        elif "host" not in entry and seconds_since(entry, "stopping") > GRACE:
            _signal(entry, signal.SIGKILL)

    def _has_left_host(self, entry: dict[str, Any], key: str) -> bool:
        """Whether its host, if it has one, has nothing of it any more."""
        return "host" in entry and (self._has_gone(entry) or self.hosts.said(entry["host"], key) is None)

    def stop_all(self) -> None:
        """Ends every process and waits for the last."""
        self.hosts.stop_all()
        since = time.monotonic()
        while self.hosts.live() or any(not self._has_gone(e) for e in self._entries()):
            for entry in self._entries():
                if "host" not in entry and not self._has_gone(entry):
                    self.stop(entry["fragment"], entry["epoch"])
            if time.monotonic() - since > HOST_GRACE:
                self.hosts.kill_all()
            self._reap()
            time.sleep(0.05)
        self.hosts.clear_orders()
        self._reap()
        sweep()

    def _reap(self) -> None:
        """Waits for ended children: a process that is not waited for seems to be alive."""
        self._children = {pid: child for pid, child in self._children.items() if child.poll() is None}
        self.hosts.reap()

    def _entries(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self._folder.glob("*.json")):
            if not path.name.endswith(".spec.json") and (entry := read_json(path)):
                yield entry

    def _path(self, fragment: str, epoch: int) -> Path:
        return self._folder / f"{fragment}-e{epoch}.json"

    def _process(self, entry: dict[str, Any], apart: Mapping[str, str]) -> Process:
        report = read_json(Path(entry["state"])) or {}
        state = PHASES.get(report.get("phase", ""), "starting")
        message = report.get("error") or ""
        restarts = entry["restarts"]
        if "host" in entry and not self._has_gone(entry):
            if state in ALIVE and report.get("pid") != self.hosts.pid(entry["host"]):
                state = "starting"  # what a host before has said
            restarts = (self.hosts.said(entry["host"], _key(entry)) or {}).get("restarts", 0)
        if "host" in entry and (why := apart.get(entry["fragment"], "")):
            state, message = "failed", f"{why}; it goes on in a process of its own"
        elif self._has_gone(entry) and state in ALIVE:
            state, message = "failed", message or self._last_words(entry)
        if state == "starting":
            message = entry.get("before") or ""  # why the one before it has ended
        return Process(
            fragment=entry["fragment"],
            epoch=entry["epoch"],
            node=entry["node"],
            planned_node=entry["node"],
            state=state,
            since=float(report.get("at") or entry["started"]),
            build=entry["build"],
            restarts=restarts,
            message=message,
            refused=state == "failed" and bool(report.get("refused")),
            terminating="stopping" in entry,
        )

    def _last_words(self, entry: dict[str, Any]) -> str:
        if "host" in entry:
            return self.hosts.last_words(entry["host"])
        log = self._logs / f"{self._path(entry['fragment'], entry['epoch']).stem}.log"
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return lines[-1] if lines else f"the process ended without a message; its log is {log}"

    def port_of(self, fragment: str, epoch: int) -> int | None:
        """The port of /metrics; None before the process has reported it."""
        entry = read_json(self._path(fragment, epoch))
        report = read_json(Path(entry["state"])) if entry else None
        return int(report["port"]) if report and report.get("port") else None

    def _has_gone(self, entry: dict[str, Any]) -> bool:
        return self.hosts.pid(entry["host"]) is None if "host" in entry else _gone(entry)


def _gone(entry: dict[str, Any]) -> bool:
    return holder_is_gone(entry["holder"])


def _key(entry: dict[str, Any]) -> str:
    return f"{entry['fragment']}-e{entry['epoch']}"


def _record(start: Start) -> dict[str, Any]:
    return {
        "fragment": start.spec.name,
        "epoch": start.spec.epoch,
        "node": start.spec.node,
        "build": start.build,
        "query": start.query,
        "state": start.spec.state,
        "started": time.time(),
    }


def _signal(entry: dict[str, Any], number: signal.Signals) -> None:
    """SIGTERM to the process; SIGKILL to its whole session, including the JVM."""
    with contextlib.suppress(ProcessLookupError):
        if number == signal.SIGKILL:
            os.killpg(entry["pid"], number)
        else:
            os.kill(entry["pid"], number)
