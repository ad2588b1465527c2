"""A fragment's lease as a coordination.k8s.io Lease, over plain HTTP with the pod's own token.

`holderIdentity`, `leaseTransitions` (the epoch), `renewTime` and `leaseDurationSeconds` are the
record; the hand-over and the release are annotations. Every write is a PUT that names the version
that was read, so that the API server refuses one of two that cross. The operator makes the object:
a driver may only get, watch and update its own.

A holder looks at its lease ten times a second. That is answered from a watch, as long as the watch has
said something within a third of the lease's duration (the holder's own renewals come back by it);
otherwise the API server is asked. An API server that does not answer is no reason to stop at once: the
lease holds for its duration after the last renewal that was confirmed, and is then taken for lost. The
fence stays sound: nobody else takes it before it was released, or was seen unchanged for that long.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from weir_placement.model.change import Change

from weir_runtime.lease import Expiry, LeaseRecord, may_take, owns

HANDOVER = "weir.dev/handover-epoch"
RELEASED = "weir.dev/released"
CHANGE = "weir.dev/change"

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CONFLICT = 409
_TRIES = 5  # of a write that crosses with another one
_TIMEOUT = 2.0  # [s] of one request; well below the duration of a lease


@dataclass(frozen=True)
class Server:
    """How the API server is reached. `token` is asked for each request: the kubelet renews the file."""

    host: str
    port: int
    token: Callable[[], str]
    context: ssl.SSLContext | None  # None: plain HTTP, for tests

    @staticmethod
    def of_pod(host: str, port: int, account: Path = _ACCOUNT) -> Server:
        """The server of the pod that this runs in."""
        context = ssl.create_default_context(cafile=str(account / "ca.crt"))
        return Server(host, port, lambda: (account / "token").read_text().strip(), context)

    def connect(self, timeout: float | None) -> http.client.HTTPConnection:
        """A connection of its own; `timeout` in seconds."""
        if self.context is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.context)

    def headers(self) -> dict[str, str]:
        """Headers of any request."""
        return {
            "Authorization": f"Bearer {self.token()}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }


class KubernetesLease:
    """The lease `name` in `namespace`."""

    def __init__(self, server: Server, namespace: str, name: str) -> None:
        self._server = server
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._expiry = Expiry()
        self._lock = threading.Lock()
        self._record: LeaseRecord | None = None
        self._version = 0
        self._heard = float("-inf")  # when the watch last sent an event [s, monotonic]
        self._watch: threading.Thread | None = None
        self._confirmed = float("-inf")  # when the last write that succeeded was begun [s, monotonic]

    def read(self) -> LeaseRecord | None:
        """The record; None when nobody ever held it, or when nothing is known any more."""
        self._start_watch()
        with self._lock:
            record, heard = self._record, self._heard
        if record is not None and time.monotonic() - heard < record.duration / 3:
            return record
        try:
            return _record_of(self._get())
        except OSError:
            return record if record is not None and self._lasts(record.duration) else None

    def acquire(self, epoch: int, holder: str, duration: float) -> bool:
        """True when this holder now has it."""
        begun = time.monotonic()
        try:
            manifest = self._get()
            record = _record_of(manifest)
            expired = record is not None and self._expiry.expired(record)
            if not may_take(record, epoch, holder, expired):
                return False
            change = record.change if record else None
            acquired = self._put(manifest, LeaseRecord(epoch, holder, time.time(), duration, change=change))
        except OSError:
            return False
        if acquired:
            self._confirmed = begun
        return acquired

    def renew(self, epoch: int, holder: str) -> bool:
        """True when it still belongs to this holder; keeps what others wrote into it."""
        changed, record = self._change(epoch, holder, released=False), self._record
        return bool(changed) or (changed is None and record is not None and self._lasts(record.duration))

    def release(self, epoch: int, holder: str) -> bool:
        """Marks it released, with the hand-over kept."""
        return bool(self._change(epoch, holder, released=True))

    def hand_over(self, epoch: int) -> None:
        """Asks the holder to make way for `epoch`. Raises OSError when the API server does not answer."""
        for _ in range(_TRIES):
            manifest = self._get()
            record = _record_of(manifest) or nobody(epoch)
            if self._put(manifest, replace(record, handover=epoch) if epoch != record.epoch else record):
                return
        raise OSError(f"lease {self._name}: {_TRIES} writes crossed with others")

    def request_cut(self, lead: float) -> None:
        """Raises OSError when the API server does not answer, or nobody has taken it yet."""
        for _ in range(_TRIES):
            manifest = self._get()
            record = _record_of(manifest)
            if record is None:
                raise OSError(f"lease {self._name}: nobody has taken it yet")
            if record.change is not None or self._put(manifest, replace(record, change=Change(lead))):
                return
        raise OSError(f"lease {self._name}: {_TRIES} writes crossed with others")

    def answer(self, epoch: int, holder: str, change: Change) -> bool:
        """True when it was written; False also when the API server does not answer."""
        return bool(self._change(epoch, holder, change=change))

    def _change(self, epoch: int, holder: str, **fields: Any) -> bool | None:
        """Whether it was written; False: it belongs to somebody else. None: no answer."""
        for _ in range(_TRIES):
            begun = time.monotonic()
            try:
                manifest = self._get()
                record = _record_of(manifest)
                if record is None or not owns(record, epoch, holder):
                    return False
                if self._put(manifest, replace(record, renewed=time.time(), **fields)):
                    self._confirmed = max(self._confirmed, begun)  # threads answer and renew
                    return True
            except OSError:
                break
        return None

    def _lasts(self, duration: float) -> bool:
        """Whether the lease is certainly still ours although the API server does not answer."""
        return time.monotonic() - self._confirmed < duration

    def _get(self) -> dict[str, Any]:
        status, body = self._request("GET", f"{self._collection}/{self._name}")
        if status != 200:
            raise OSError(f"lease {self._name}: the API server answered {status}: {_message(body)}")
        manifest: dict[str, Any] = json.loads(body)
        return manifest

    def _put(self, manifest: dict[str, Any], record: LeaseRecord) -> bool:
        """False when another write came in between."""
        status, body = self._request(
            "PUT", f"{self._collection}/{self._name}", json.dumps(_manifest_of(manifest, record))
        )
        if status == _CONFLICT:
            return False
        if status != 200:
            raise OSError(f"lease {self._name}: the API server answered {status}: {_message(body)}")
        self._saw(json.loads(body))
        return True

    def _request(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        connection = self._server.connect(_TIMEOUT)
        try:
            connection.request(method, path, body, self._server.headers())
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise OSError(f"lease {self._name}: {error!r}") from error
        finally:
            connection.close()

    def _saw(self, manifest: dict[str, Any]) -> None:
        """Takes in the answer of a watch or a write, unless a newer one has come."""
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
        """Watches for ever; after a broken watch `read` asks the server until the next one speaks."""
        while True:
            try:
                self._watch_once()
            except (OSError, ValueError, KeyError, http.client.HTTPException):
                with self._lock:
                    self._heard = float("-inf")
            time.sleep(1.0)

    def _watch_once(self) -> None:
        path = f"{self._collection}?watch=1&fieldSelector=metadata.name%3D{self._name}&timeoutSeconds=300"
        connection = self._server.connect(330.0)
        try:
            connection.request("GET", path, headers=self._server.headers())
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(f"the API server answered {answer.status}")
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] in ("ADDED", "MODIFIED"):
                    self._saw(event["object"])
        finally:
            connection.close()


def nobody(epoch: int) -> LeaseRecord:
    """Nobody holds it, and only `epoch` may begin."""
    return LeaseRecord(epoch, "nobody:0:1", 0.0, 1.0, released=True)


def _record_of(manifest: dict[str, Any]) -> LeaseRecord | None:
    spec = manifest.get("spec") or {}
    notes = manifest["metadata"].get("annotations") or {}
    if not spec.get("leaseTransitions"):
        return nobody(int(notes[HANDOVER])) if HANDOVER in notes else None
    renewed = datetime.fromisoformat(spec["renewTime"]).timestamp() if spec.get("renewTime") else 0.0
    return LeaseRecord(
        epoch=int(spec["leaseTransitions"]),
        holder=spec.get("holderIdentity", ""),
        renewed=renewed,
        duration=float(spec["leaseDurationSeconds"]),
        handover=int(notes[HANDOVER]) if HANDOVER in notes else None,
        released=notes.get(RELEASED) == "true",
        change=Change(**json.loads(notes[CHANGE])) if CHANGE in notes else None,
    )


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
        "leaseDurationSeconds": max(1, round(record.duration)),
    }
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": notes}, "spec": spec}


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body).get("message", ""))
    except (ValueError, AttributeError):
        return body[:200].decode(errors="replace")
