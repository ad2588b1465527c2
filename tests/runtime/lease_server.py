"""A server that keeps one Lease as the API server does: versions, conflicts, watches; it can be away."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


class Store:
    """One Lease, with optimistic concurrency."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lease: dict[str, Any] = {
            "metadata": {"name": "f", "resourceVersion": "1", "labels": {"kept": "yes"}},
            "spec": {},
        }
        self.watchers: list[queue.Queue[dict[str, Any]]] = []
        self.answers = True
        self.watches = True
        self.deleted = False
        self.closes = False  # each connection after an answer
        self.gets = 0
        self.connections = 0

    def put(self, lease: dict[str, Any]) -> bool:
        with self.lock:
            if lease["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                return False
            version = str(int(self.lease["metadata"]["resourceVersion"]) + 1)
            self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": version}}
            for watcher in self.watchers:
                watcher.put(self.lease)
            return True

    def bookmark(self) -> None:
        for watcher in self.watchers:
            watcher.put({"metadata": {"resourceVersion": self.lease["metadata"]["resourceVersion"]}})

    def annotate(self, **notes: str) -> None:
        meta = self.lease["metadata"]
        assert self.put({**self.lease, "metadata": {**meta, "annotations": notes}})


class _Handler(BaseHTTPRequestHandler):
    store: ClassVar[Store]
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.store.connections += 1

    def do_GET(self) -> None:
        if not self.store.answers:
            self.close_connection = True
        elif "watch=1" in self.path:
            if self.store.watches:
                self.follow()
            else:
                self.answer(503, {})
        else:
            self.store.gets += 1
            if self.store.deleted:
                self.answer(404, {"kind": "Status", "reason": "NotFound"})
            else:
                self.answer(200, self.store.lease)

    def do_PUT(self) -> None:
        if not self.store.answers:
            self.close_connection = True
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        put = self.store.put(body)
        self.answer(200 if put else 409, self.store.lease if put else {"message": "conflict"})

    def follow(self) -> None:
        events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.store.watchers.append(events)
        events.put(self.store.lease)
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        while self.store.answers:
            try:
                lease = events.get(timeout=0.1)
            except queue.Empty:
                continue
            kind = "MODIFIED" if "spec" in lease else "BOOKMARK"
            self.wfile.write(json.dumps({"type": kind, "object": lease}).encode() + b"\n")
            self.wfile.flush()

    def answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.close_connection |= self.store.closes

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve(store: Store) -> Iterator[int]:
    """The port on which it answers."""
    handler = type("Handler", (_Handler,), {"store": store})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        store.answers = False
        server.shutdown()
        server.server_close()
