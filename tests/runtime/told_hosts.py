"""Hosts that tests tell what to run: in a thread of the tests' process, or in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec
from weir_runtime.host import Host, HostSpec
from weir_runtime.names import write_whole


class ToldHost:
    """One, by its files below `folder`; `changes` of its spec."""

    def __init__(self, folder: Path, name: str, **changes: Any) -> None:
        files = (str(folder / f"{name}-{what}.json") for what in ("lease", "desired", "state"))
        self.spec = HostSpec(name, *files, **changes)
        self.wanted: dict[str, Any] = {}

    def want(self, **specs: FragmentSpec | Mapping[str, Any]) -> None:
        """What the host shall run, all of it."""
        for key, spec in specs.items():
            self.wanted[key] = json.loads(spec.to_json()) if isinstance(spec, FragmentSpec) else spec
        write_whole(Path(self.spec.desired), json.dumps({"fragments": self.wanted}))

    def drop(self, key: str) -> None:
        """It shall not run any more."""
        del self.wanted[key]
        self.want()

    def said(self, key: str) -> dict[str, Any]:
        """What the host's state file has of one."""
        path = Path(self.spec.state)
        state: dict[str, Any] = (
            json.loads(path.read_text())["fragments"].get(key, {}) if path.exists() else {}
        )
        return state


class HostInThread(ToldHost):
    """In an application that is there."""

    def __init__(self, folder: Path, name: str, spark: SparkSession) -> None:
        super().__init__(folder, name)
        self.host = Host(self.spec, spark)
        self._thread = threading.Thread(target=self.host.run)
        self._thread.start()

    def end(self) -> None:
        self.host.stopping.set()
        self._thread.join()


class HostProcess(ToldHost):
    """A process, and after it another one, as a controller would start them."""

    def start(self, **more: str) -> subprocess.Popen[bytes]:
        """Begins it; of one that has ended, the next. `more`: environment variables."""
        file = Path(self.spec.state).with_suffix(".host.json")
        write_whole(file, json.dumps(asdict(self.spec)))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **more}
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            environment.pop(name, None)
        command = [sys.executable, "-m", "weir_runtime.host", str(file)]
        self.process = subprocess.Popen(command, env=environment)
        return self.process

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(300)
