"""Kopf's registry: only handlers that leave no trace in anybody's objects."""

from __future__ import annotations

from typing import Any

import kopf
from weir_operator.kube import names
from weir_operator.kube.handlers import KINDS, prepare, registry
from weir_operator.kube.liveness import Liveness


class CountedWakes:
    """Counts how often it was woken."""

    def __init__(self) -> None:
        self.wakes = self.starts = self.stops = 0

    def wake(self) -> None:
        self.wakes += 1

    def start(self) -> None:
        self.starts += 1

    def stop(self) -> None:
        self.stops += 1


def handlers(runner: Any = None) -> kopf.OperatorRegistry:
    return registry(runner or CountedWakes(), Liveness())


def test_only_login_startup_event_and_cleanup_handlers() -> None:
    kopf_registry = handlers()
    kinds = {h.activity.value for h in kopf_registry._activities.get_all_handlers() if h.activity}
    assert kinds == {"authentication", "startup", "cleanup"}
    assert not list(kopf_registry._changing.get_all_handlers())
    assert not list(kopf_registry._spawning.get_all_handlers())
    assert not list(kopf_registry._webhooks.get_all_handlers())
    assert not list(kopf_registry._indexing.get_all_handlers())


def test_every_kind_nodes_and_our_pods_wake_the_loop() -> None:
    watched = {
        h.selector.plural or h.selector.any_name
        for h in handlers()._watching.get_all_handlers()
        if h.selector
    }
    assert watched == {*KINDS, "nodes", "pods", "leases"}


def test_watches_end_in_time_and_see_only_what_is_ours() -> None:
    settings = kopf.OperatorSettings()
    prepare(settings)
    assert settings.posting.enabled is False
    assert settings.peering.standalone is True
    assert settings.watching.server_timeout == 300
    assert settings.watching.client_timeout == 330
    assert settings.watching.label_selectors["pods"] == names.MANAGED


def test_where_some_namespaces_are_watched_no_others_are_looked_for() -> None:
    """Without the right to list namespaces Kopf would ask for a day before it watched anything."""
    for everywhere in (True, False):
        settings = kopf.OperatorSettings()
        prepare(settings, everywhere)
        assert settings.scanning.disabled is not everywhere


def test_a_heartbeat_of_a_node_wakes_nobody_and_a_cordon_does() -> None:
    (handler,) = [
        h for h in handlers()._watching.get_all_handlers() if h.selector and h.selector.any_name == "nodes"
    ]
    assert handler.when is not None
    when: Any = handler.when
    memo = kopf.Memo()

    def node(heartbeat: str, **spec: Any) -> kopf.Body:
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat}
        return kopf.Body({"metadata": {"name": "n"}, "spec": spec, "status": {"conditions": [condition]}})

    def wakes(body: kopf.Body) -> bool:
        return bool(when(body=body, memo=memo))

    assert wakes(node("1"))
    assert not wakes(node("2"))
    assert wakes(node("3", unschedulable=True))
    assert not wakes(node("4", unschedulable=True))
