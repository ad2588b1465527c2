"""What a host in a cluster is told and says, through a server with versions and watches."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from weir_runtime import host_orders
from weir_runtime.api_server import Server
from weir_runtime.host_orders import STATE, KubernetesOrders

from tests.runtime.lease_server import Store, serve

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A process keeps its connections to its end."""


@pytest.fixture
def store() -> Store:
    """Of one ConfigMap, whichever is asked for."""
    store = Store()
    del store.lease["spec"]
    return store


@pytest.fixture
def orders(store: Store) -> Iterator[KubernetesOrders]:
    with serve(store) as port:
        server = Server("127.0.0.1", port, lambda: "token", None)
        yield KubernetesOrders(server, "ns", "host", "host-state", "uid-1")


def write(store: Store, **orders: Any) -> None:
    data = {key: value if isinstance(value, str) else json.dumps(value) for key, value in orders.items()}
    assert store.put({**store.lease, "data": data, "spec": {}})


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_is_ordered_arrives_by_the_watch(orders: KubernetesOrders, store: Store) -> None:
    assert orders.read() == {}
    until(lambda: store.watchers)
    write(store, f={"spec": {"name": "f"}, "build": "b"}, g={"spec": {"name": "g"}})
    until(lambda: orders.read() == {"f": {"name": "f"}, "g": {"name": "g"}})
    assert store.gets == 1
    write(store, f={"spec": {"name": "f"}, "stopping": True}, g={"spec": {"name": "g"}})
    until(lambda: orders.read() == {"g": {"name": "g"}})


def test_what_was_said_before_is_nothing_where_there_is_no_state(
    orders: KubernetesOrders, store: Store
) -> None:
    """Somebody has deleted it, or has written into it: the host runs what it shall all the same."""
    write(store, **{STATE: {"fragments": {"f-e1": {"alone": "why"}}}})
    assert orders.said() == {"f-e1": {"alone": "why"}}
    write(store, **{STATE: "{"})
    assert orders.said() == {}


def test_without_a_watch_it_is_asked_for(
    orders: KubernetesOrders, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_orders, "_ASK", 0.1)
    store.watches = False
    assert orders.read() == {}
    write(store, f={"spec": {"name": "f"}})
    until(lambda: orders.read() == {"f": {"name": "f"}})


def test_an_order_that_cannot_be_read_is_that_ones_alone(orders: KubernetesOrders, store: Store) -> None:
    write(store, bad="{", worse="3", f={"spec": {"name": "f"}})
    assert orders.read() == {"bad": "{", "worse": 3, "f": {"name": "f"}}


def test_while_nobody_answers_what_was_ordered_stays(orders: KubernetesOrders, store: Store) -> None:
    write(store, f={"spec": {"name": "f"}})
    assert orders.read() == {"f": {"name": "f"}}
    store.answers = False
    assert orders.read() == {"f": {"name": "f"}}


def test_before_anybody_has_answered_nothing_is_known(orders: KubernetesOrders, store: Store) -> None:
    store.answers = False
    with pytest.raises(OSError, match="API server"):
        orders.read()
    assert orders.read() is None
    store.answers = True
    until(lambda: orders.read() == {})


def test_what_runs_is_said_once_with_the_pod_that_says_it(orders: KubernetesOrders, store: Store) -> None:
    orders.say({"fragments": {"f": {"phase": "running"}}})
    state = json.loads(store.lease["data"][STATE])
    assert (state["pod"], state["fragments"]) == ("uid-1", {"f": {"phase": "running"}})
    gets = store.gets
    orders.say({"fragments": {"f": {"phase": "running"}}})
    assert store.gets == gets


def test_what_could_not_be_said_is_said_later(
    orders: KubernetesOrders, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_orders, "_RETRY", 0.05)
    store.answers = False
    orders.say({"fragments": {}})
    store.answers = True

    def says() -> bool:
        orders.say({"fragments": {}})
        return STATE in (store.lease.get("data") or {})

    until(says)
