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
"""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, cast

from weir_placement.model.change import Change
from weir_placement.model.from_plain import build_plain

from weir_runtime.api_server import KeptConnections, Server
from weir_runtime.lease import NOBODY, Expiry, LeaseRecord, may_take, owns
from weir_runtime.renewal import now

HANDOVER = "weir.dev/handover-epoch"
RELEASED = "weir.dev/released"
CHANGE = "weir.dev/change"

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
        self._requests = KeptConnections(server, _TIMEOUT)
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._expiry = Expiry()
        self._lock = threading.Lock()
        self._record: LeaseRecord | None = None
        self._version = 0
        self._heard = float("-inf")  # when anything was last heard of it [s, monotonic]
        self._ask_at = float("-inf")  # [s, monotonic]
        self._watch: threading.Thread | None = None
        self._confirmed = float("-inf")  # when the last write that succeeded was begun [s, as `now`]

    def read(self) -> LeaseRecord | None:
        """The record; None when nobody ever held it. Raises OSError when nothing is known any more."""
        fresh, record = self._look()
        if fresh or (record is not None and self._lasts(record.duration)):
            return record
        raise OSError(f"lease {self._name}: the API server does not answer")

    def acquire(self, epoch: int, holder: str, duration: float) -> bool:
        """True when this holder now has it. The API server is asked once it may be so."""
        fresh, record = self._look()
        if not fresh or not self._may_take(record, epoch, holder):
            return False
        start = now()
        try:
            manifest, record = self._get()
            if not self._may_take(record, epoch, holder):
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
            if now - last_heard < (_FREE if record is None or record.released else record.duration / 3):
                return True, record
            if now < self._ask_at:
                return False, record
            self._ask_at = now + _ASK
        try:
            return True, self._get()[1]
        except OSError:
            return False, record

    def _may_take(self, record: LeaseRecord | None, epoch: int, holder: str) -> bool:
        expired = record is not None and self._expiry.expired(record)
        return may_take(record, epoch, holder, expired)

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
            raise LeaseGone(f"lease {self._name} was deleted")
        if status != 200:
            raise OSError(f"lease {self._name}: the API server answered {status}: {_message(body)}")
        manifest: dict[str, Any] = json.loads(body)
        self._saw(manifest)
        return manifest, _record_of(manifest)

    def _put(self, manifest: dict[str, Any], record: LeaseRecord) -> bool:
        """False when another write came in between."""
        text = json.dumps(_manifest_of(manifest, record))
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
            self._heard = time.monotonic()
            if version >= self._version:
                self._version, self._record = version, _record_of(manifest)

    def _start_watch(self) -> None:
        if self._watch is None:
            self._watch = threading.Thread(target=self._follow, name="lease-watch", daemon=True)
            self._watch.start()

    def _follow(self) -> None:
        """Watches for ever."""
        while True:
            with suppress(OSError, ValueError, KeyError, http.client.HTTPException):
                self._watch_once()
            time.sleep(1.0)

    def _watch_once(self) -> None:
        """Every event is the whole object, and a new watch begins with one: none is missed for long. A
        bookmark says that nothing has changed."""
        path = f"{self._collection}?watch=1&fieldSelector=metadata.name%3D{self._name}&timeoutSeconds=300"
        path += "&allowWatchBookmarks=true"
        connection = self._server.connect(330.0)
        try:
            connection.request("GET", path, headers=self._server.headers())
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(f"lease {self._name}: the API server answered its watch with {answer.status}")
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] in ("ADDED", "MODIFIED"):
                    self._saw(event["object"])
                elif event["type"] == "BOOKMARK":
                    with self._lock:
                        self._heard = time.monotonic()
        finally:
            connection.close()


def nobody(epoch: int) -> LeaseRecord:
    """Nobody holds it, and only `epoch` may begin."""
    return LeaseRecord(epoch, NOBODY, 0.0, 1.0, released=True)


def _record_of(manifest: dict[str, Any]) -> LeaseRecord | None:
    spec = manifest.get("spec") or {}
    notes = manifest["metadata"].get("annotations") or {}
    handover = _number(notes.get(HANDOVER, ""))
    if not spec.get("leaseTransitions"):
        return nobody(handover) if handover is not None else None
    renewed = datetime.fromisoformat(spec["renewTime"]).timestamp() if spec.get("renewTime") else 0.0
    return LeaseRecord(
        epoch=int(spec["leaseTransitions"]),
        holder=spec.get("holderIdentity", ""),
        renewed=renewed,
        duration=float(spec["leaseDurationSeconds"]),
        handover=handover,
        released=notes.get(RELEASED) == "true",
        change=_change(notes.get(CHANGE, "")),
    )


def _number(text: str) -> int | None:
    """None also for what nobody of ours writes: anybody who may edit the Lease may write its annotations."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _change(text: str) -> Change | None:
    """Likewise."""
    try:
        return cast(Change, build_plain(Change, json.loads(text), "change"))
    except (ValueError, RecursionError):
        return None


def _manifest_of(manifest: dict[str, Any], record: LeaseRecord) -> dict[str, Any]:
    """`manifest` with the record in it; what others keep there (labels, owners) stays."""
    notes = dict(manifest["metadata"].get("annotations") or {})
    change = json.dumps(asdict(record.change)) if record.change else None
    written = {HANDOVER: record.handover, RELEASED: "true" if record.released else None, CHANGE: change}
    for key, value in written.items():
        if value is None:
            notes.pop(key, None)
        else:
            notes[key] = str(value)
    renewed = datetime.fromtimestamp(record.renewed, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {
        "holderIdentity": record.holder,
        "leaseTransitions": record.epoch,
        "renewTime": renewed,
        "leaseDurationSeconds": max(1, math.ceil(record.duration)),
    }
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": notes}, "spec": spec}


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body).get("message", ""))
    except (ValueError, AttributeError):
        return body[:200].decode(errors="replace")
