"""What a host shall run, and what it says: two files on one machine, two ConfigMaps in a cluster.

Both are levels, not messages: each may be lost, repeated or late. What a host says is an object and no answer
by HTTP: what has finished, or may still run on a node that is lost, is known to an operator that starts anew,
also where it does not reach the host's pod.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from weir_runtime.api_server import KeptConnections, Server
from weir_runtime.named_watch import NamedWatch
from weir_runtime.names import read_json, write_whole

STATE = "state"
"""Key of the second ConfigMap. The first one has a key for each fragment."""

_TIMEOUT = 2.0  # [s] of one request
_ASK = 30.0  # [s] between two questions while the watch is silent
_RETRY = 1.0  # [s] between two tries of a write


class Orders(Protocol):
    """Port of a host to whoever tells it what to run."""

    def read(self) -> Mapping[str, Any] | None:
        """FragmentSpecs by key, each as it was written; None: nobody has said anything. Raises OSError and
        ValueError: nothing is known now."""
        ...

    def said(self) -> Mapping[str, Any]:
        """What was said last, by this life of the host or one before, by key. Raises as `read`."""
        ...

    def say(self, state: Mapping[str, Any]) -> None:
        """What runs now; called again and again, also when nothing is new. What cannot be written now is
        tried again."""
        ...


class News:
    """What is new is written; what cannot be written now, as on a full disk, is told again a while later.

    Args:
        write: raises OSError or ValueError.
    """

    def __init__(self, write: Callable[[Mapping[str, Any]], None]) -> None:
        self._write = write
        self._told: Mapping[str, Any] = {}
        self._tell_at = float("-inf")  # [s, monotonic]

    def tell(self, state: Mapping[str, Any]) -> None:
        """Writes it unless it is what was written last."""
        if state == self._told or time.monotonic() < self._tell_at:
            return
        try:
            self._write(state)
            self._told = state
        except (OSError, ValueError) as error:
            print(f"what runs cannot be said: {error}", file=sys.stderr)
            self._tell_at = time.monotonic() + _RETRY


class FileOrders:
    """`{"fragments": {key: FragmentSpec}}` in one file, the state in the other."""

    def __init__(self, desired: str, state: str) -> None:
        self._desired, self._state = Path(desired), Path(state)
        self._news = News(self._write)

    def read(self) -> Mapping[str, Any] | None:
        """As of Orders."""
        raw = read_json(self._desired)
        try:
            return dict(raw["fragments"]) if raw is not None else None
        except (KeyError, TypeError) as error:
            raise ValueError(f"{self._desired} cannot be read: {error!r}") from error

    def said(self) -> Mapping[str, Any]:
        """As of Orders."""
        return _fragments(read_json(self._state))

    def say(self, state: Mapping[str, Any]) -> None:
        """As of Orders."""
        self._news.tell(state)

    def _write(self, state: Mapping[str, Any]) -> None:
        write_whole(self._state, json.dumps({**state, "at": time.time()}))


class KubernetesOrders:
    """`{"spec": FragmentSpec, ...}` in each key of the ConfigMap `desired`, which a watch follows; one with
    `"stopping": true` is not to run any more. The state is JSON in the ConfigMap `state`, with the uid of the
    pod that says it."""

    def __init__(self, server: Server, namespace: str, desired: str, state: str, pod: str) -> None:
        self._server = server
        self._requests = KeptConnections(server, _TIMEOUT)
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._desired, self._state, self._pod = desired, state, pod
        self._watch: NamedWatch | None = None
        self._orders: Mapping[str, Any] | None = None
        self._version = 0
        self._ask_at = float("-inf")  # [s, monotonic]
        self._news = News(self._write)

    def read(self) -> Mapping[str, Any] | None:
        """As of Orders."""
        if self._watch is None:
            self._watch = NamedWatch(self._server, self._collection, self._desired, self._told)
        if time.monotonic() >= self._ask_at:
            self._ask_at = time.monotonic() + (_RETRY if self._orders is None else _ASK)
            self._saw(self._get(self._desired))
        return self._orders

    def _told(self, kind: str, manifest: dict[str, Any]) -> None:
        if kind in ("ADDED", "MODIFIED"):
            self._saw(manifest)
            self._ask_at = time.monotonic() + _ASK

    def _saw(self, manifest: Mapping[str, Any]) -> None:
        version = int(manifest["metadata"]["resourceVersion"])
        if version >= self._version:
            data = manifest.get("data") or {}
            self._orders = dict(order for key, text in data.items() if (order := _order(key, text)))
            self._version = version

    def said(self) -> Mapping[str, Any]:
        """As of Orders."""
        manifest = self._find(self._state)
        return _fragments(_plain(((manifest or {}).get("data") or {}).get(STATE, "null")))

    def say(self, state: Mapping[str, Any]) -> None:
        """As of Orders."""
        self._news.tell(state)

    def _write(self, state: Mapping[str, Any]) -> None:
        manifest = self._get(self._state)
        text = json.dumps({**state, "pod": self._pod, "at": time.time()})
        self._put({**manifest, "data": {STATE: text}})

    def _get(self, name: str) -> dict[str, Any]:
        if (manifest := self._find(name)) is None:
            raise OSError(f"configmap {name}: the API server has none")
        return manifest

    def _find(self, name: str) -> dict[str, Any] | None:
        """None: there is none."""
        status, body = self._requests.send("GET", f"{self._collection}/{name}")
        if status == 404:
            return None
        if status != 200:
            raise OSError(f"configmap {name}: the API server answered {status}")
        manifest: dict[str, Any] = json.loads(body)
        return manifest

    def _put(self, manifest: Mapping[str, Any]) -> None:
        """In the version that was read."""
        name = manifest["metadata"]["name"]
        status, _ = self._requests.send("PUT", f"{self._collection}/{name}", json.dumps(manifest))
        if status != 200:
            raise OSError(f"configmap {name}: the API server answered {status}")


def _plain(text: str) -> Any:
    """None for what is no JSON, as anybody may write into the object."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _fragments(state: Any) -> Mapping[str, Any]:
    """By key; nothing where a state is not what a host writes."""
    fragments = state.get("fragments") if isinstance(state, dict) else None
    entries = fragments.items() if isinstance(fragments, dict) else ()
    return {key: about for key, about in entries if isinstance(about, dict)}


def _order(key: str, text: str) -> tuple[str, Any] | None:
    """One that cannot be read is the fragment's error alone: it is handed on as it is."""
    try:
        order = json.loads(text)
    except ValueError:
        return key, text
    if not isinstance(order, dict):
        return key, order
    return None if order.get("stopping") else (key, order.get("spec"))
