"""The API server of the cluster that a process runs in, over plain HTTP with the pod's own token.

The client library of the operator would do it too. It is no part of the runtime's image: its import costs
0.2 s of CPU and 27 MB in every driver, and what is left here to be written would be as long.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


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


class KeptConnections:
    """Requests on a connection that is kept, one for each thread: none waits for another's answer.

    Args:
        server: where they go.
        timeout: [s] of one request.
    """

    def __init__(self, server: Server, timeout: float) -> None:
        self._server = server
        self._timeout = timeout
        self._thread = threading.local()

    def send(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        """Status and body of the answer. A request may be sent twice, as the server closes connections that
        have been idle; so it must bear that. Raises OSError without an answer."""
        connection: http.client.HTTPConnection | None = self._thread.__dict__.pop("connection", None)
        if connection is not None:
            try:
                return self._sent(connection, method, path, body)
            except OSError:
                pass
        return self._sent(self._server.connect(self._timeout), method, path, body)

    def _sent(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: str | None
    ) -> tuple[int, bytes]:
        try:
            connection.request(method, path, body, self._server.headers())
            answer = connection.getresponse()
            status, content = answer.status, answer.read()
        except http.client.HTTPException as error:
            connection.close()
            raise OSError(f"the API server: {error!r}") from error
        except OSError:
            connection.close()
            raise
        self._thread.connection = connection
        return status, content
