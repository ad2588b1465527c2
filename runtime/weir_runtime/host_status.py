"""A host over HTTP: /metrics of all its fragments, /healthz and /readyz of itself, /fragments."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from weir_runtime.metrics import Metrics
from weir_runtime.status import STUCK


class HostView(Protocol):
    """What is shown of a host."""

    def state(self) -> Mapping[str, Any]:
        """What it says it runs."""
        ...

    def metrics(self) -> Mapping[str, Metrics]:
        """Of its fragments, by key."""
        ...

    def is_ready(self) -> bool:
        """Whether what it runs may publish."""
        ...


class MergedMetrics(Collector):
    """Those of several registries, each family once: labels say whose a sample is."""

    def __init__(self, metrics: Iterable[Metrics]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """Of each fragment that runs."""
        families: dict[str, Metric] = {}
        for metrics in self._metrics:
            for family in metrics.registry.collect():
                merged = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                merged.samples.extend(family.samples)
        yield from families.values()


class HostStatus:
    """Answers from before the JVM starts on; `view` is set when there is a host."""

    def __init__(self, port: int) -> None:
        self.view: HostView | None = None
        self._turn = time.monotonic()
        self._server = ThreadingHTTPServer(("", port), self._handler())
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, daemon=True, name="http").start()

    def beat(self) -> None:
        """The host's loop goes round."""
        self._turn = time.monotonic()

    def close(self) -> None:
        """Answers nobody any more."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Code, type and body."""
        view = self.view
        state = view.state() if view else {"fragments": {}}
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, _text(_live(view.metrics()) if view else ())
        if path.startswith("/fragments/") and path.endswith("/metrics"):
            key = path.removeprefix("/fragments/").removesuffix("/metrics")
            metrics = view.metrics().get(key) if view else None
            return (
                (200, CONTENT_TYPE_LATEST, _text([metrics])) if metrics else _words(404, f"no fragment {key}")
            )
        if path == "/fragments":
            return _words(200, json.dumps(state), "application/json")
        if path in ("/healthz", "/readyz"):
            hangs = time.monotonic() - self._turn > STUCK
            well = not hangs and (path == "/healthz" or (view is not None and view.is_ready()))
            return _words(200 if well else 503, json.dumps({**state, "hangs": hangs}), "application/json")
        return _words(404, "/metrics, /healthz, /readyz, /fragments, /fragments/KEY/metrics\n")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        status = self

        class HostHandler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """The paths of docs/runtime.md."""
                code, kind, body = status.answer(self.path)
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Scrapes are not news."""

        return HostHandler


def _live(metrics: Mapping[str, Metrics]) -> list[Metrics]:
    """Of two epochs of a fragment, one that has published, or the later one: their labels are the same."""
    chosen: dict[str, Metrics] = {}
    for one in sorted(metrics.values(), key=lambda one: (one.last_batch >= 0, one.epoch)):
        chosen[one.plain["fragment"]] = one
    return list(chosen.values())


def _text(metrics: Iterable[Metrics]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(MergedMetrics(metrics))
    return generate_latest(registry)


def _words(code: int, text: str, kind: str = "text/plain") -> tuple[int, str, bytes]:
    return code, kind, text.encode()
