"""Lists and watches that go on from what the API server has forgotten, and watches that it breaks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import kopf
import pytest
from weir_operator.kube import api as client
from weir_operator.kube.api import ApiError
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.handlers import registry
from weir_operator.kube.leader import Leader
from weir_operator.kube.liveness import Liveness
from weir_operator.kube.settings import OperatorSettings

from tests.api_server.api_under_test import ApiUnderTest, OnServer, manifest
from tests.api_server.server import OPERATOR, ApiServer


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PAGE", 2)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_list_has_all_pages(target: ApiUnderTest, count: int) -> None:
    for i in range(count):
        assert target.api.create(manifest("Lease", target.namespace, f"l{i}"))
    names = [m["metadata"]["name"] for m in target.api.list("Lease", target.namespace)]
    assert names == [f"l{i}" for i in range(count)]


@pytest.mark.usefixtures("small_pages")
def test_a_list_whose_beginning_is_forgotten_ends_its_round_and_the_next_one_is_whole(
    target: OnServer, server: ApiServer
) -> None:
    """Half of it from then and half from now would be a cluster that never was."""
    for i in range(5):
        assert target.api.create(manifest("Lease", target.namespace, f"l{i}"))
    leases = target.api.list("Lease", target.namespace)
    assert next(leases)["metadata"]["name"] == "l0"
    assert target.api.delete("Lease", target.namespace, "l4")
    server.stop_api()
    server.compact()
    server.start_api()
    with pytest.raises(ApiError, match="continue parameter is too old") as refused:
        list(leases)
    assert refused.value.status == 410
    assert len(list(target.api.list("Lease", target.namespace))) == 4


def test_an_adapter_observes_again_after_the_server_was_away(target: OnServer, server: ApiServer) -> None:
    adapter = KubernetesCluster(target.api, OperatorSettings(watch_namespaces=(target.namespace,)))
    adapter.observe()
    server.stop_api()
    try:
        with pytest.raises(ApiError) as refused:
            adapter.observe()
        assert refused.value.status == 0
    finally:
        server.start_api()
    adapter.observe()


class Woken:
    """The operator's loop, as its watches know it."""

    def __init__(self) -> None:
        self.wakes = 0

    def wake(self) -> None:
        self.wakes += 1

    def start(self) -> None:
        """No round runs."""

    def wait_for_first_round(self, seconds: float) -> None:
        """None is awaited."""

    def stop(self) -> None:
        """Nothing runs."""


@pytest.fixture
def watching(
    target: OnServer, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Woken, Liveness]]:
    """The operator's watches on the namespace, as its own user."""
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(OPERATOR)))
    woken, liveness, stop = Woken(), Liveness(), threading.Event()
    handlers = registry(woken, liveness, everywhere=False)  # type: ignore[arg-type]

    async def watch() -> None:
        namespaces = [target.namespace]
        await kopf.operator(registry=handlers, standalone=True, namespaces=namespaces, stop_flag=stop)
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.25)  # aiohttp closes connections in the background, and says nobody when

    thread = threading.Thread(target=asyncio.run, args=(watch(),), daemon=True)
    thread.start()
    yield woken, liveness
    stop.set()
    thread.join(60)


def until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def asked(target: ApiUnderTest, i: int) -> dict[str, Any]:
    return manifest(
        "StreamQuery", target.namespace, "q", spec={"sql": f"SELECT s.k FROM s AS s WHERE s.k > {i}"}
    )


def test_each_change_wakes_the_loop_also_after_an_outage_in_which_all_versions_were_forgotten(
    target: OnServer, server: ApiServer, watching: tuple[Woken, Liveness]
) -> None:
    woken, _ = watching
    edits = iter(range(1000))

    def wakes() -> bool:
        """An edit is seen: one that the watch's beginning covers wakes as well."""
        before = woken.wakes
        target.admin.apply(asked(target, next(edits)), "user")
        time.sleep(0.1)
        return woken.wakes > before

    until(wakes)
    server.stop_api()
    server.compact()
    server.start_api()
    until(wakes)
    until(wakes)


def test_the_renewal_of_the_leaders_lease_is_watched(
    target: OnServer, watching: tuple[Woken, Liveness], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, liveness = watching
    renewals = []
    monkeypatch.setattr(liveness, "renewal_watched", lambda: renewals.append(1))
    leader = Leader(target.api, target.namespace, "me")

    def heard() -> bool:
        before = len(renewals)
        assert leader.campaign()
        time.sleep(0.1)
        return len(renewals) > before

    until(heard)
