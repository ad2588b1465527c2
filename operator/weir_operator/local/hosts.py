"""Hosts on this machine: which processes there are, and what each shall run (docs/runtime.md, "Hosts")."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FragmentSpec
from weir_runtime.host import HostSpec
from weir_runtime.lease import holder_is_gone, holder_name
from weir_runtime.names import read_json, write_whole

from weir_operator.local.seconds import seconds_since

WELL = 600.0
"""[s] after which a host has run well: if it ends then, the waits before its restarts begin anew."""


@dataclass(frozen=True)
class SharingClass:
    """What fragments in one host have in common, beside their node."""

    namespace: str
    policy: str
    environment: Mapping[str, str]

    def host(self, node: str) -> str:
        """The name of its host on a node."""
        parts = json.dumps([self.namespace, self.policy, sorted(self.environment.items())])
        name = re.sub(r"[^a-z0-9-]", "-", node.lower())
        return f"{name}-{hashlib.sha256(f'{node} {parts}'.encode()).hexdigest()[:8]}"


class Hosts:
    """One folder a host: its spec, lease, orders, state and process."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "hosts"
        self._logs = root / "logs"
        self._children: list[subprocess.Popen[bytes]] = []

    def order(self, host: str, key: str, spec: FragmentSpec) -> None:
        """The host is to run this as well, as it is written now."""
        self._write_orders(host, {**self.orders(host), key: json.loads(spec.to_json())})

    def withdraw(self, host: str, key: str) -> None:
        """The host is not to run it any more."""
        orders = self.orders(host)
        if key in orders:
            self._write_orders(host, {name: spec for name, spec in orders.items() if name != key})

    def orders(self, host: str) -> dict[str, Any]:
        """What a host is to run, by key."""
        return dict((read_json(self._folder / host / "desired.json") or {"fragments": {}})["fragments"])

    def _write_orders(self, host: str, orders: Mapping[str, Any]) -> None:
        write_whole(self._folder / host / "desired.json", json.dumps({"fragments": orders}))

    def pid(self, host: str) -> int | None:
        """Of its live process."""
        entry = self._entry(host)
        return int(entry["pid"]) if entry and not holder_is_gone(entry["holder"]) else None

    def said(self, host: str, key: str) -> dict[str, Any] | None:
        """What its live process has said of one fragment; None: it has none of that key."""
        state, pid = read_json(self._folder / host / "state.json") or {}, self.pid(host)
        fragments: dict[str, dict[str, Any]] = state.get("fragments", {}) if state.get("pid") == pid else {}
        return fragments.get(key)

    def alone(self, host: str, key: str) -> str:
        """Why one of its fragments is to have a process of its own, as its process or one before it has said;
        "" when nothing speaks for that."""
        state = read_json(self._folder / host / "state.json") or {}
        return str(state.get("fragments", {}).get(key, {}).get("alone", ""))

    def last_words(self, host: str) -> str:
        """Why it ended, as far as its log says."""
        log = self._log(host)
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return lines[-1] if lines else f"its host ended without a message; its log is {log}"

    def _log(self, host: str) -> Path:
        return self._logs / f"host-{host}.log"

    def _entry(self, host: str) -> dict[str, Any] | None:
        return read_json(self._folder / host / "process.json")

    def run(self, host: str, environment: Mapping[str, str], cores: int, heap_mb: int) -> None:
        """Idempotent: a live one is left alone; one that ended is started again, after longer each time."""
        self.reap()
        if self.pid(host) is not None:
            return
        restarts = 0
        if entry := self._entry(host):
            passed = seconds_since(entry, "began")
            restarts = entry["restarts"] + 1 if passed < WELL else 1
            if restarts > 1 and passed < min(2.0**restarts, 60.0):
                return
        folder = self._folder / host
        lease, desired, state = (str(folder / f"{what}.json") for what in ("lease", "desired", "state"))
        spec = HostSpec(host, lease, desired, state, cores, heap_mb)
        write_whole(folder / "host.json", json.dumps(asdict(spec)))
        self._logs.mkdir(parents=True, exist_ok=True)
        with open(self._log(host), "ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "weir_runtime.host", str(folder / "host.json")],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt of the terminal is the controller's alone
                env={**os.environ, **environment, "PYSPARK_PYTHON": sys.executable},
            )
        self._children.append(child)
        record = {
            "pid": child.pid,
            "holder": holder_name(child.pid),
            "began": time.monotonic(),
            "restarts": restarts,
        }
        write_whole(folder / "process.json", json.dumps(record))

    def stop_idle(self) -> None:
        """Those that are to run nothing, and run nothing, end."""
        for host in self._names():
            state = read_json(self._folder / host / "state.json") or {}
            if self.pid(host) is not None and not self.orders(host) and state.get("fragments") == {}:
                self._signal(host, signal.SIGTERM)

    def stop_all(self) -> None:
        """Every host is told to stop, with all it runs; nothing is to run any more."""
        for host in self._names():
            self._signal(host, signal.SIGTERM)

    def clear_orders(self) -> None:
        """Once all have ended: whoever comes next orders anew."""
        for host in self._names():
            self._write_orders(host, {})

    def kill_all(self) -> None:
        """Those that do not stop."""
        for host in self._names():
            self._signal(host, signal.SIGKILL)

    def live(self) -> list[str]:
        """Hosts that run."""
        self.reap()
        return [host for host in self._names() if self.pid(host) is not None]

    def _names(self) -> list[str]:
        return sorted(path.parent.name for path in self._folder.glob("*/process.json"))

    def _signal(self, host: str, number: signal.Signals) -> None:
        pid = self.pid(host)
        if pid is not None:
            os.killpg(pid, number) if number == signal.SIGKILL else os.kill(pid, number)

    def reap(self) -> None:
        """Waits for ended children: a process that is not waited for seems to be alive."""
        self._children = [child for child in self._children if child.poll() is None]
