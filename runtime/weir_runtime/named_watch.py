"""The events of one object of the API server, by its name: all that its reader may see."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from weir_runtime.api_server import Server

AGAIN = 1.0
"""[s] before a watch that has ended begins anew."""


class NamedWatch:
    """A thread of its own until it is closed.

    Every event is the whole object, and a new watch begins with one: none is missed for long. A bookmark says
    that nothing has changed.

    Args:
        collection: path of the object's kind in its namespace.
        saw: called with the type of each event and its object.
    """

    def __init__(
        self, server: Server, collection: str, name: str, saw: Callable[[str, dict[str, Any]], None]
    ) -> None:
        self._server = server
        self._path = f"{collection}?watch=1&fieldSelector=metadata.name%3D{name}&timeoutSeconds=300"
        self._path += "&allowWatchBookmarks=true"
        self._name = name
        self._saw = saw
        self._closed = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        threading.Thread(target=self._follow, name=f"watch-{name}", daemon=True).start()

    def close(self) -> None:
        """Nothing more is said."""
        self._closed.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _follow(self) -> None:
        while not self._closed.is_set():
            with suppress(OSError, ValueError, KeyError, http.client.HTTPException):
                self._once()
            self._closed.wait(AGAIN)

    def _once(self) -> None:
        connection = self._server.connect(330.0)
        try:
            connection.request("GET", self._path, headers=self._server.headers())
            self._connection = connection
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(f"{self._name}: the API server answered its watch with {answer.status}")
            while not self._closed.is_set() and (line := answer.readline()):
                event = json.loads(line)
                self._saw(event["type"], event["object"])
        finally:
            connection.close()
