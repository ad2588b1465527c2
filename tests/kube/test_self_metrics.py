"""What the operator counts of its own work, as Prometheus scrapes it."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry
from weir_operator.controller.counts import Counts
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.leader import Leader
from weir_operator.kube.liveness import Liveness
from weir_operator.kube.self_metrics import ClusterCollector
from weir_operator.kube.settings import OperatorSettings

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import loop, one_query, settle
from tests.kube.memory import Memory


class NoLeader:
    def leads(self) -> bool:
        return False


def scraped(the_loop: Any, api: Any) -> CollectorRegistry:
    registry = CollectorRegistry()
    cluster = KubernetesCluster(Memory().api, OperatorSettings())
    registry.register(ClusterCollector(cluster, the_loop, Liveness(), cast(Leader, NoLeader()), api))
    return registry


class CountedApi(Memory):
    def __init__(self) -> None:
        super().__init__()
        self.calls: Counts[tuple[str, int]] = Counts()


def test_moves_and_plans_that_came_into_force_are_counted() -> None:
    scenario, cluster = one_query(), FakeCluster()
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    registry = scraped(the_loop, CountedApi())
    query = {"namespace": "default", "query": "q"}
    assert registry.get_sample_value("weir_operator_replans_total", query) == 1
    assert registry.get_sample_value("weir_operator_moves_total") == 0
    moving = {f for f, node in cluster.running().items() if node == cluster.running()["q-f"]}
    scenario.cordoned = frozenset({cluster.running()["q-f"]})
    settle(the_loop)
    assert registry.get_sample_value("weir_operator_replans_total", query) == 2
    assert registry.get_sample_value("weir_operator_moves_total") == len(moving)


def test_calls_of_the_api_server_are_counted_by_verb_and_answer() -> None:
    api = CountedApi()
    for code in (200, 200, 503):
        api.calls.add(("PATCH", code))
    registry = scraped(loop(one_query(), FakeCluster()), api)
    for code, count in (("200", 2), ("503", 1)):
        labels = {"verb": "PATCH", "code": code}
        assert registry.get_sample_value("weir_operator_api_calls_total", labels) == count


def test_no_count_is_lost_between_threads() -> None:
    counts: Counts[str] = Counts()
    threads = [threading.Thread(target=lambda: [counts.add("x") for _ in range(5000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.totals() == {"x": 20000}


def test_a_call_without_an_answer_is_counted_as_code_0() -> None:
    from kubernetes import client

    api = Api(client.ApiClient(client.Configuration(host="http://127.0.0.1:9", retries=0)))
    with pytest.raises(ApiError):
        api.text("/metrics")
    assert api.calls.totals() == {("GET", 0): 1}
