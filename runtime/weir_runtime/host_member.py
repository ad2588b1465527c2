"""A fragment that a host is to run: attempts at it, one after the other, each after longer when they fail."""

from __future__ import annotations

import json
import sys
import threading
import time
import traceback
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FragmentError, FragmentSpec

from weir_runtime import thread_clients
from weir_runtime.cpu import SharedCpu
from weir_runtime.host_fragment import MB, HostedFragment, QueryStuck, Turn
from weir_runtime.hosted_tenure import SwappedLease
from weir_runtime.incarnations import Incarnations
from weir_runtime.locations import lease_at
from weir_runtime.metrics import Metrics
from weir_runtime.names import read_json
from weir_runtime.process import EXIT_FENCED
from weir_runtime.session import Sessions
from weir_runtime.status import ProcessStatus

WELL = 600.0
"""[s] after which an attempt has gone well: what fails then waits as if for the first time."""

LONGEST = 60.0
"""[s] between two attempts at most."""

OUT_OF_MEMORY = ("MemoryError", "OutOfMemoryError", "exited unexpectedly (crashed)")
"""In an error of a fragment alone, from Python, Java, or a Python worker that the kernel has killed."""

OVER = ("finished", "released", "fenced")
"""Phases after which an epoch is not run again, also by a host that starts anew."""


@dataclass(frozen=True)
class Commons:
    """What a host's fragments have in common; `longest` [s]: of a batch."""

    sessions: Sessions
    host: Incarnations
    cpu: SharedCpu
    turn: Turn
    longest: float

    def fragment(self, spec: FragmentSpec, lease: SwappedLease) -> HostedFragment:
        """An attempt at one."""
        return HostedFragment(spec, lease, self.host, self.cpu, self.turn, self.longest)


class Member:
    """One of a host's fragments, by its key in the host's orders; `look` is called again and again.

    Attributes:
        stuck: an attempt's query does not stop: the host must end.
        error: of the last attempt that failed.
        alone: why it should have a process of its own from now on; "" when nothing speaks for that. There is
            no further attempt in a host then.
    """

    def __init__(self, key: str, raw: Any, common: Commons, alone: str = "") -> None:
        self.key = key
        self.stuck = False
        self.error = ""
        self.alone = alone
        self._raw = raw
        self._common = common
        self._fragment: HostedFragment | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._over = _phase(raw) in OVER
        self._restarts = -1
        self._began = self._next = 0.0  # [s, monotonic]

    @property
    def alive(self) -> bool:
        """Whether an attempt is under way."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def metrics(self) -> Metrics | None:
        """Of an attempt that is under way."""
        return self._fragment.metrics if self._fragment is not None and self.alive else None

    @property
    def has_stopped(self) -> bool:
        """Whether it was told to stop, and has: to be wanted again it must be made anew."""
        return self._stopped and not self.alive

    def look(self) -> None:
        """Begins an attempt when there is to be one."""
        if self.alive or self._stopped or self._over or self.alone or time.monotonic() < self._next:
            return
        self._began = time.monotonic()
        self._restarts += 1
        self._thread = threading.Thread(target=self._run, daemon=True, name=self.key)
        self._thread.start()

    def stop(self) -> None:
        """The attempt under way is to end as on SIGTERM; there will be no other."""
        self._stopped = True
        if self._fragment is not None:
            self._fragment.terminate.set()

    def join(self) -> None:
        """Returns when none is under way."""
        if self._thread is not None:
            self._thread.join()

    def said(self) -> dict[str, Any]:
        """For the host's state file."""
        phase = self._fragment.status.phase if self._fragment else _phase(self._raw)
        return {
            "phase": phase,
            "restarts": max(0, self._restarts),
            "error": self.error,
            "mb": round(self.size / MB),
            "alone": self.alone,
        }

    @property
    def size(self) -> int:
        """[bytes] As of `HostedFragment`; 0 when it runs no more."""
        return self._fragment.size if self._fragment and not self._over else 0

    @property
    def suspicion(self) -> tuple[int, bool, int]:
        """As of `HostedFragment`; the least when it runs no more."""
        return self._fragment.suspicion if self._fragment and not self._over else (-1, False, 0)

    def _run(self) -> None:
        thread_clients.close_of_ended()  # what the attempt before has left
        try:
            spec = FragmentSpec.from_json(json.dumps(self._raw))
            if spec.executors:
                raise FragmentError(f"fragment.executors: {spec.executors}; a host's fragments have none")
            with closing(lease_at(spec.lease)) as lease:
                self._fragment = self._common.fragment(spec, lease)
                if self._stopped:
                    self._fragment.terminate.set()
                code = self._fragment.attempt(self._common.sessions)
            self._over = code in (0, EXIT_FENCED)
        except QueryStuck as error:
            self.stuck, self.error = True, str(error)
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """Only this one: the others do not notice."""
        if isinstance(error, FragmentError):
            print(f"{self.key}: {error}", file=sys.stderr)
        else:
            traceback.print_exc()
        self.error = f"{type(error).__name__}: {error}"
        if any(name in self.error for name in OUT_OF_MEMORY):
            self.alone = f"out of memory: {self.error}"
        if time.monotonic() - self._began > WELL:
            self._restarts = 0
        self._next = time.monotonic() + min(2.0 ** (self._restarts + 1), LONGEST)
        state = self._raw.get("state") if isinstance(self._raw, dict) else None
        if self._fragment is None and isinstance(state, str):  # it never came to say so itself
            status = ProcessStatus(state, str(self._raw.get("name")), self._raw.get("epoch", 0))
            try:
                status.say(phase="failed", error=self.error)
            except OSError as silent:
                print(f"{self.key}: {silent}", file=sys.stderr)


def _phase(raw: Any) -> str:
    """What an attempt, of this host's or an earlier one, has said of this epoch."""
    try:
        state = read_json(Path(raw["state"])) or {}
        return str(state["phase"]) if state.get("epoch") == raw["epoch"] else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
