"""Leases for tests that run code a step at a time: others go on before each answer is worked out, and before
it arrives. As files, and at an API server whose answers may be lost after it has written."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

from weir_runtime.api_server import KeptConnections, Server
from weir_runtime.kubernetes_lease import SCHEME, KubernetesLease
from weir_runtime.lease import FileLease, LeaseRecord

from tests.runtime.actors import Actor, turn

Away = Callable[[], bool]


class SteppedFileLease(FileLease):
    """Nobody who is away reaches it."""

    def __init__(self, path: str | Path, away: Away, actors: list[Actor]) -> None:
        super().__init__(path)
        self._away = away
        self.actors = actors  # of the host

    def _asked(self) -> None:
        turn()
        if self._away():
            raise OSError("no answer")

    def _host_lease(self, location: str) -> FileLease:
        return SteppedFileLease(location, self._away, self.actors)

    def read(self) -> LeaseRecord | None:
        self._asked()
        record = FileLease(self._path).read()
        turn()
        return record

    def swap(self, before: LeaseRecord | None, after: LeaseRecord) -> bool:
        self._asked()
        swapped = FileLease(self._path).swap(before, after)
        turn()
        return swapped

    def _change(self, epoch: int, holder: str, **fields: object) -> bool:
        self._asked()
        changed = FileLease(self._path)._change(epoch, holder, **fields)
        turn()
        return changed


class ModelApi:
    """Leases by name, each with a version that a write must name."""

    def __init__(self) -> None:
        self.leases: dict[str, dict[str, Any]] = {}
        self._version = 0

    def get(self, name: str) -> dict[str, Any]:
        """The operator has made it."""
        return self.leases.setdefault(name, {"metadata": {"name": name, "resourceVersion": "0"}})

    def put(self, name: str, manifest: dict[str, Any]) -> bool:
        if manifest["metadata"]["resourceVersion"] != self.get(name)["metadata"]["resourceVersion"]:
            return False
        self._version += 1
        manifest["metadata"]["resourceVersion"] = str(self._version)
        self.leases[name] = manifest
        return True


class ModelRequests:
    """Of one client; `steps`: whether others go on meanwhile."""

    def __init__(self, api: ModelApi, away: Away, steps: bool) -> None:
        self._api, self._away, self._steps = api, away, steps

    def send(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        self._pass()
        name = path.rsplit("/", 1)[-1]
        written = method == "PUT" and self._api.put(name, json.loads(body or ""))
        answer = (200 if method == "GET" or written else 409), json.dumps(self._api.get(name)).encode()
        self._pass()
        return answer

    def _pass(self) -> None:
        if self._steps:
            turn()
        if self._away():
            raise OSError("no answer")


class SteppedKubernetesLease(KubernetesLease):
    """Its watch says something when the test says so."""

    def __init__(self, api: ModelApi, name: str, away: Away, actors: list[Actor], steps: bool = True) -> None:
        super().__init__(cast(Server, None), "ns", name)
        self._requests = cast(KeptConnections, ModelRequests(api, away, steps))
        self._about = (api, away, actors, steps)
        self.actors = actors

    def _host_lease(self, location: str) -> KubernetesLease:
        api, *others = self._about
        return SteppedKubernetesLease(api, location.rpartition("/")[2], *others)

    def _start_watch(self) -> None:
        """There is none."""

    def hear(self) -> None:
        """An event of its watch."""
        self._saw(copy.deepcopy(self._about[0].get(self._name)))


SteppedLease = SteppedFileLease | SteppedKubernetesLease


class Keeper(Protocol):
    """Where the leases of one test lie."""

    def location(self, name: str) -> str:
        """Of the lease `name`, as a holder's name has it."""
        ...

    def stepped(self, location: str, away: Away, actors: list[Actor]) -> SteppedLease:
        """For a host's thread."""
        ...

    def hand_over(self, location: str, epoch: int) -> None:
        """As the operator does."""
        ...

    def record(self, location: str) -> LeaseRecord | None:
        """What it really says."""
        ...


class LeaseFiles:
    """In a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def location(self, name: str) -> str:
        return str(self._folder / "leases" / f"{name}.json")

    def stepped(self, location: str, away: Away, actors: list[Actor]) -> SteppedLease:
        return SteppedFileLease(location, away, actors)

    def hand_over(self, location: str, epoch: int) -> None:
        FileLease(location).hand_over(epoch)

    def record(self, location: str) -> LeaseRecord | None:
        return FileLease(location).read()


class LeaseObjects:
    """At an API server."""

    def __init__(self, folder: Path) -> None:
        self.api = ModelApi()

    def location(self, name: str) -> str:
        return f"{SCHEME}ns/{name}"

    def stepped(self, location: str, away: Away, actors: list[Actor]) -> SteppedLease:
        return SteppedKubernetesLease(self.api, location.rpartition("/")[2], away, actors)

    def hand_over(self, location: str, epoch: int) -> None:
        self._plain(location).hand_over(epoch)

    def record(self, location: str) -> LeaseRecord | None:
        return self._plain(location)._get()[1]

    def _plain(self, location: str) -> SteppedKubernetesLease:
        return SteppedKubernetesLease(self.api, location.rpartition("/")[2], lambda: False, [], steps=False)
