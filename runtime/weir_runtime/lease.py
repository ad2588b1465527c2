"""The lease of a fragment: which epoch's process may publish (docs/runtime.md, "The lease")."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from weir_placement.model.change import Change
from weir_placement.model.hosted import NOBODY, HostedHolder

from weir_runtime.names import read_json, write_whole


@dataclass(frozen=True)
class LeaseRecord:
    """What the lease says. `renewed` [s since 1970] is the holder's clock, `duration` in seconds;
    `change` stays from holder to holder."""

    epoch: int
    holder: str
    renewed: float
    duration: float
    handover: int | None = None
    released: bool = False
    change: Change | None = None


class FragmentLease(Protocol):
    """Port: a JSON file on one machine, a coordination.k8s.io Lease in a cluster."""

    def read(self) -> LeaseRecord | None:
        """The record; None when nobody ever held it. Raises OSError: nothing is known for certain."""

    def acquire(self, epoch: int, holder: str, duration: float) -> bool:
        """Takes it if the rules allow; False: not yet. Call again: expiry is judged over calls."""

    def renew(self, epoch: int, holder: str) -> bool:
        """False: it belongs to somebody else, or is gone. Raises OSError: nobody answers."""

    def release(self, epoch: int, holder: str) -> bool:
        """Says that this holder publishes nothing more. False: it belongs to somebody else."""

    def hand_over(self, epoch: int) -> None:
        """The controller's wish that `epoch` takes over."""

    def request_cut(self, lead: float) -> None:
        """The controller's wish that the plan ends at a cut, `lead` seconds from now; once."""

    def answer(self, epoch: int, holder: str, change: Change) -> bool:
        """The holder's answer to `request_cut`. False: it belongs to somebody else, or another cut stands."""


def holder_name(pid: int | None = None) -> str:
    """`host:pid:start`: start [clock ticks since boot] tells a process from a later one of the same pid."""
    pid = os.getpid() if pid is None else pid
    return f"{socket.gethostname()}:{pid}:{_start_of(pid)}"


def _start_of(pid: int) -> int:
    """Field 22 of /proc/pid/stat; 0 when there is no such process, or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def holder_is_gone(holder: str) -> bool:
    """True only when it is certain: the holder ran on this host and its process is no more."""
    host, *numbers = holder.rsplit(":", 2)
    if len(numbers) < 2 or not all(number.isascii() and number.isdecimal() for number in numbers):
        return False  # not a name that a driver has
    pid, start = numbers
    running = _start_of(int(pid))
    return host == socket.gethostname() and (running == 0 or running != int(start))


class Expiry:
    """Judges on the watcher's own clock: a record unchanged for its duration has expired."""

    def __init__(self) -> None:
        self._record: LeaseRecord | None = None
        self._since = 0.0

    def expired(self, record: LeaseRecord, before: float | None = None) -> bool:
        """Whether `record` was seen unchanged for its duration, over all calls so far.

        Args:
            before: [s, monotonic] when it was not yet read; needed where nothing refuses to take what was
                renewed since.
        """
        now = time.monotonic()
        if record != self._record:
            self._record, self._since = record, now
        return (now if before is None else before) - self._since >= record.duration


def may_take(record: LeaseRecord | None, epoch: int, holder: str, expired: bool) -> bool:
    """The rule of docs/runtime.md: who may take a lease that says `record`."""
    if record is None or record.holder == holder:
        return True
    invited = record.handover == epoch if record.handover is not None else record.epoch == epoch
    successor = record.released and record.handover is None and epoch > record.epoch
    if not (invited or successor):
        return False
    return record.released or holder_is_gone(record.holder) or expired


class FileLease:
    """A lease as a JSON file on one machine's file system."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._expiry = Expiry()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{self._path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, record: LeaseRecord) -> None:
        write_whole(self._path, json.dumps(dataclasses.asdict(record)))

    def _host_lease(self, location: str) -> FileLease:
        return FileLease(location)

    def read(self) -> LeaseRecord | None:
        """The record; None when nobody ever held it."""
        raw = read_json(self._path)
        if raw is None:
            return None
        change = raw.pop("change", None)
        return LeaseRecord(**raw, change=Change(**change) if change else None)

    def acquire(self, epoch: int, holder: str, duration: float) -> bool:
        """True when this holder now has it."""
        record = self.read()
        if not may_take(record, epoch, holder, record is not None and self._is_over(record)):
            return False
        change = record.change if record else None
        return self.swap(record, LeaseRecord(epoch, holder, time.time(), duration, change=change))

    def close(self) -> None:
        """Nothing is kept open."""

    def swap(self, before: LeaseRecord | None, after: LeaseRecord) -> bool:
        """Puts `after` in the place of `before`. False: there is something else by now."""
        with self._locked():
            if self.read() != before:
                return False
            self._write(after)
            return True

    def _is_over(self, record: LeaseRecord) -> bool:
        """Whether whoever holds `record` publishes nothing more, for ever. A fragment in a host is judged by
        its host's lease, which is another file: it must have been expired when it was asked for."""
        hosted = HostedHolder.parse(record.holder)
        if hosted is None:
            return self._expiry.expired(record)
        before = time.monotonic()
        host = self._host_lease(hosted.lease).read()
        if host is None:
            return self._expiry.expired(record, before)
        if host.epoch != hosted.incarnation or host.released or holder_is_gone(host.holder):
            return True
        return self._expiry.expired(host, before)

    def renew(self, epoch: int, holder: str) -> bool:
        """True when it still belongs to this holder; keeps what others wrote into it."""
        return self._change(epoch, holder)

    def release(self, epoch: int, holder: str) -> bool:
        """Marks it released, with the handover kept."""
        return self._change(epoch, holder, released=True)

    def hand_over(self, epoch: int) -> None:
        """Asks the holder to make way for `epoch`; without a holder, only `epoch` may begin."""
        with self._locked():
            record = self.read()
            if record is None:
                record = LeaseRecord(epoch, NOBODY, 0.0, 0.0, released=True)
            if epoch != record.epoch:
                record = dataclasses.replace(record, handover=epoch)
            self._write(record)

    def restore(self, epoch: int, change: Change | None) -> None:
        """Where there is no lease: one that `epoch` has released, with the cut that it had agreed to."""
        with self._locked():
            if self.read() is None:
                self._write(LeaseRecord(epoch, NOBODY, 0.0, 0.0, released=True, change=change))

    def request_cut(self, lead: float, began: int | None = None, time: int | None = None) -> None:
        """Kept until the lease goes. With `began` [us]: where nobody has ever had it the cut is agreed there,
        and passed, so that whoever takes it still publishes nothing. With `time` [us]: of a fragment that
        does not deliver, after which nobody needs its rows. Raises OSError without a lease."""
        with self._locked():
            record = self.read()
            if began is not None and (record is None or record.holder == NOBODY):
                record = record or LeaseRecord(1, NOBODY, 0.0, 0.0, released=True)
                if record.change is None:
                    self._write(dataclasses.replace(record, change=Change(lead, began, passed=True)))
                return
            if record is None:
                raise OSError(f"{self._path}: no process has acquired it yet")
            if record.change is None:
                self._write(dataclasses.replace(record, change=Change(lead, time)))

    def answer(self, epoch: int, holder: str, change: Change) -> bool:
        """True when it was written."""
        return self._change(epoch, holder, change=change)

    def _change(self, epoch: int, holder: str, **fields: Any) -> bool:
        with self._locked():
            record = self.read()
            if not owns(record, epoch, holder):
                return False
            assert record is not None
            if "change" in fields and not may_follow(record.change, fields["change"]):
                return False
            self._write(dataclasses.replace(record, renewed=time.time(), **fields))
            return True


def may_follow(before: Change | None, after: Change) -> bool:
    """Whether an answer may be written over what stands: a cut that was agreed to is never another one."""
    return before is None or before.time in (None, after.time)


def owns(record: LeaseRecord | None, epoch: int, holder: str) -> bool:
    """Whether this holder may publish: the fence that is checked before each publish."""
    return record is not None and record.epoch == epoch and record.holder == holder and not record.released
