"""A fragment's lease as a coordination.k8s.io Lease.

`holderIdentity`, `leaseTransitions` (the epoch), `renewTime` and `leaseDurationSeconds` are the
record; the hand-over and the release are annotations. Every write is a PUT that names the version
that was read, so that the API server refuses one of two that cross. The operator makes the object:
a driver may only get, watch and update its own.

Holders look at their lease ten times a second, and who waits for one 50 times. That is answered from what
was last heard of it, by a watch, an answer or a renewal, as long as that is no older than a third of the
lease's duration; otherwise the API server is asked, at most twice a second. An API server that does not
answer is no reason to stop at once: the lease holds for its duration after the last renewal that was
confirmed. From then on its holder publishes nothing until a renewal is confirmed again, which the API server
refuses when somebody has taken it meanwhile. The fence stays sound: nobody else takes it before it was
released, or was seen unchanged for that long.

A record whose holder is in a host is never renewed: it lasts as long as the host's own Lease does, which
whoever is invited asks for, and is taken by a write over the version that was read before it asked.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

from weir_placement.model.change import Change
from weir_placement.model.hosted import HostedHolder

from weir_runtime.api_server import KeptConnections, Server
from weir_runtime.kubernetes_record import manifest_of, nobody, record_of
from weir_runtime.lease import Expiry, LeaseRecord, holder_is_gone, may_follow, may_take, owns
from weir_runtime.named_watch import NamedWatch
from weir_runtime.renewal import now

SCHEME = "kubernetes:"

_CONFLICT = 409
_TRIES = 5  # of a write that crosses with another one
_TIMEOUT = 2.0  # [s] of one request; well below the duration of a lease
_ASK = 0.5  # [s] between two questions because the watch is silent
_FREE = 3.0  # [s] for which what was heard of a lease counts that nobody has


class LeaseGone(OSError):
    """The object was deleted: a new one of its name may be taken at once."""


class KubernetesLease:
    """The lease `name` in `namespace`."""

    def __init__(self, server: Server, namespace: str, name: str) -> None:
        self._server = server
        self._namespace = namespace
        self._requests = KeptConnections(server, _TIMEOUT)
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._expiry = Expiry()
        self._lock = threading.Lock()
        self._record: LeaseRecord | None = None
        self._version = 0
        self._heard = float("-inf")  # when anything was last heard of it [s, monotonic]
        self._ask_at = float("-inf")  # [s, monotonic]
        self._watch: NamedWatch | None = None
        self._is_gone = False  # the object was deleted
        self._hosts: dict[str, KubernetesLease] = {}  # of holders of this one
        self._ask_host_at = float("-inf")  # [s, monotonic]
        self._confirmed = float("-inf")  # when the last write that succeeded was begun [s, as `now`]

    def read(self) -> LeaseRecord | None:
        """The record; None when nobody ever held it, and when the object was deleted. Raises OSError when
        nothing is known any more."""
        fresh, record = self._look()
        if self._is_gone:
            return None
        if fresh or (record is not None and self._lasts(record.duration)):
            return record
        raise OSError(f"lease {self._name}: the API server does not answer")

    def acquire(self, epoch: int, holder: str, duration: float) -> bool:
        """True when this holder now has it. The API server is asked once it may be so."""
        fresh, record = self._look()
        if not fresh or not self._could_take(record, epoch, holder):
            return False
        start = now()
        try:
            manifest, record = self._get()
            if not may_take(record, epoch, holder, expired=False) and not (
                record is not None and may_take(record, epoch, holder, expired=True) and self._is_over(record)
            ):
                return False
            change = record.change if record else None
            acquired = self._put(manifest, LeaseRecord(epoch, holder, time.time(), duration, change=change))
        except OSError:
            return False
        if acquired:
            self._confirmed = start
        return acquired

    def _look(self) -> tuple[bool, LeaseRecord | None]:
        """Whether what was last heard of it still counts, and what that was. Asks where it does not."""
        self._start_watch()
        with self._lock:
            record, last_heard, now = self._record, self._heard, time.monotonic()
            if now - last_heard < _counts_for(record):
                return True, record
            if now < self._ask_at:
                return False, record
            self._ask_at = now + _ASK
        try:
            return True, self._get()[1]
        except OSError:
            return False, record

    def swap(self, before: LeaseRecord | None, after: LeaseRecord) -> bool:
        """Puts `after` in the place of `before`. False: there is something else by now. Raises OSError when
        the API server does not answer, LeaseGone where there is no object."""
        start = now()
        manifest, record = self._get()
        if record != before or not self._put(manifest, after):
            return False
        self._confirmed = max(self._confirmed, start)
        return True

    def close(self) -> None:
        """Its watch ends: of a lease that a process has no more to do with."""
        if self._watch is not None:
            self._watch.close()

    def _could_take(self, record: LeaseRecord | None, epoch: int, holder: str) -> bool:
        """Whether it is worth asking. How a host does is asked twice a second, and by nobody uninvited."""
        if record is None or HostedHolder.parse(record.holder) is None:
            return may_take(record, epoch, holder, record is not None and self._expiry.expired(record))
        if not may_take(record, epoch, holder, expired=True) or time.monotonic() < self._ask_host_at:
            return False
        self._ask_host_at = time.monotonic() + _ASK
        return True

    def _is_over(self, record: LeaseRecord) -> bool:
        """Whether whoever holds `record`, which the API server has said just now, publishes nothing more, for
        ever. A host is asked for after that: the write that follows takes nothing that was written since.
        Raises OSError: nobody knows."""
        hosted = HostedHolder.parse(record.holder)
        if hosted is None:
            return self._expiry.expired(record)
        before = time.monotonic()
        try:
            _, host = self._host_lease(hosted.lease)._get()
        except LeaseGone:
            host = None
        if host is None:
            return self._expiry.expired(record, before)
        if host.epoch != hosted.incarnation or host.released or holder_is_gone(host.holder):
            return True
        return self._expiry.expired(host, before)

    def _host_lease(self, location: str) -> KubernetesLease:
        """Of its own namespace: no host is in another one, whatever is written there."""
        name = location.rpartition("/")[2]
        if name not in self._hosts:
            self._hosts[name] = KubernetesLease(self._server, self._namespace, name)
        return self._hosts[name]

    def renew(self, epoch: int, holder: str) -> bool:
        """True when it still belongs to this holder; keeps what others wrote into it. Raises OSError when
        the API server does not answer."""
        changed = self._change(epoch, holder, released=False)
        if changed is None:
            raise OSError(f"lease {self._name}: the API server does not confirm its renewal")
        return changed

    def release(self, epoch: int, holder: str) -> bool:
        """Marks it released, with the hand-over kept."""
        return bool(self._change(epoch, holder, released=True))

    def hand_over(self, epoch: int) -> None:
        """Asks the holder to make way for `epoch`. Raises OSError when the API server does not answer."""
        for _ in range(_TRIES):
            manifest, record = self._get()
            record = record or nobody(epoch)
            if self._put(manifest, replace(record, handover=epoch) if epoch != record.epoch else record):
                return
        raise OSError(f"lease {self._name}: {_TRIES} writes in a row collided with another writer's")

    def request_cut(self, lead: float) -> None:
        """Raises OSError when the API server does not answer, or no process has acquired it yet."""
        for _ in range(_TRIES):
            manifest, record = self._get()
            if record is None:
                raise OSError(f"lease {self._name}: no process has acquired it yet")
            if record.change is not None or self._put(manifest, replace(record, change=Change(lead))):
                return
        raise OSError(f"lease {self._name}: {_TRIES} writes in a row collided with another writer's")

    def answer(self, epoch: int, holder: str, change: Change) -> bool:
        """True when it was written; False also when the API server does not answer."""
        return bool(self._change(epoch, holder, change=change))

    def _change(self, epoch: int, holder: str, **fields: Any) -> bool | None:
        """Whether it was written; False: it belongs to somebody else. None: no answer."""
        for _ in range(_TRIES):
            start = now()
            try:
                manifest, record = self._get()
                if record is None or not owns(record, epoch, holder):
                    return False
                if "change" in fields and not may_follow(record.change, fields["change"]):
                    return False
                if self._put(manifest, replace(record, renewed=time.time(), **fields)):
                    self._confirmed = max(self._confirmed, start)  # threads answer and renew
                    return True
            except LeaseGone:
                return False
            except OSError:
                break
        return None

    def _lasts(self, duration: float) -> bool:
        """Whether the lease is certainly still ours although the API server does not answer."""
        return now() - self._confirmed < duration

    def _get(self) -> tuple[dict[str, Any], LeaseRecord | None]:
        """The object and its record. Raises OSError, LeaseGone where there is none."""
        status, body = self._requests.send("GET", f"{self._collection}/{self._name}")
        if status == 404 and b'"NotFound"' in body:
            self._is_gone = True
            raise LeaseGone(f"lease {self._name} was deleted")
        if status != 200:
            raise OSError(f"lease {self._name}: the API server answered {status}: {_message(body)}")
        manifest: dict[str, Any] = json.loads(body)
        self._saw(manifest)
        return manifest, record_of(manifest)

    def _put(self, manifest: dict[str, Any], record: LeaseRecord) -> bool:
        """False when another write came in between."""
        text = json.dumps(manifest_of(manifest, record))
        status, body = self._requests.send("PUT", f"{self._collection}/{self._name}", text)
        if status == _CONFLICT:
            return False
        if status != 200:
            raise OSError(f"lease {self._name}: the API server answered {status}: {_message(body)}")
        self._saw(json.loads(body))
        return True

    def _saw(self, manifest: dict[str, Any]) -> None:
        """Takes in an answer, or an event of the watch, unless a newer one has come."""
        version = int(manifest["metadata"]["resourceVersion"])
        with self._lock:
            self._heard, self._is_gone = time.monotonic(), False
            if version >= self._version:
                self._version, self._record = version, record_of(manifest)

    def _start_watch(self) -> None:
        if self._watch is None:
            self._watch = NamedWatch(self._server, self._collection, self._name, self._told)

    def _told(self, kind: str, manifest: dict[str, Any]) -> None:
        """An event of the watch."""
        if kind in ("ADDED", "MODIFIED"):
            self._saw(manifest)
        elif kind == "BOOKMARK":
            with self._lock:
                self._heard = time.monotonic()
        elif kind == "DELETED":
            self._is_gone, self._heard = True, float("-inf")


def _counts_for(record: LeaseRecord | None) -> float:
    """[s] for which what was last heard counts. A holder in a host renews another lease, by which it knows
    that nobody has taken this one."""
    if record is None or record.released:
        return _FREE
    return record.duration if HostedHolder.parse(record.holder) else record.duration / 3


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body).get("message", ""))
    except (ValueError, AttributeError):
        return body[:200].decode(errors="replace")
