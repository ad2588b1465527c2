"""The operator's own metrics, read from what it last observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from weir_operator.controller.loop import Loop
from weir_operator.kube.api import Api
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.leader import Leader
from weir_operator.kube.liveness import Liveness


class ClusterCollector(Collector):
    """Queries' conditions and headroom, fragments off their node, and the loop itself."""

    def __init__(
        self, cluster: KubernetesCluster, loop: Loop, liveness: Liveness, leader: Leader, api: Api
    ) -> None:
        self._cluster = cluster
        self._loop = loop
        self._liveness = liveness
        self._leader = leader
        self._api = api

    def collect(self) -> Iterator[Metric]:
        """Called at each scrape."""
        yield GaugeMetricFamily(
            "weir_operator_leader", "1 in the replica that leads, else 0.", float(self._leader.leads())
        )
        yield GaugeMetricFamily(
            "weir_operator_loop_age_seconds",
            "Seconds since the loop last completed a round.",
            self._liveness.since_round(),
        )
        yield CounterMetricFamily(
            "weir_operator_rounds_failed", "Rounds that ended early.", self._liveness.failed_rounds
        )
        yield from self._counters()
        yield GaugeMetricFamily(
            "weir_operator_moves_paused",
            "1 while most nodes are silent, so that nothing is moved.",
            float(bool(self._loop.last.paused)),
        )
        laps = self._loop.laps
        yield GaugeMetricFamily(
            "weir_operator_round_seconds", "How long the last round took.", sum(laps.values())
        )
        parts = GaugeMetricFamily(
            "weir_operator_round_part_seconds", "How long each part of the last round took.", labels=["part"]
        )
        for part, seconds in laps.items():
            parts.add_metric([part], seconds)
        yield parts
        yield GaugeMetricFamily(
            "weir_operator_event_loop_lag_seconds",
            "Largest delay of the event loop that reads the watches, over the last five minutes.",
            self._liveness.largest_lag(),
        )
        if self._leader.leads():  # the other replica observes nothing
            yield from self._queries()
            yield self._off_pin()
            yield self._unreadable()

    def _counters(self) -> Iterator[Metric]:
        moves = sum(self._loop.moves.totals().values())
        yield CounterMetricFamily(
            "weir_operator_moves", "Moves of fragments: hand-overs to another process.", float(moves)
        )
        replans = CounterMetricFamily(
            "weir_operator_replans", "Plans of a query that came into force.", labels=["namespace", "query"]
        )
        for query, count in self._loop.replans.totals().items():
            replans.add_metric(query.split("/", 1), float(count))
        yield replans
        calls = CounterMetricFamily(
            "weir_operator_api_calls",
            "Requests to the API server by the status code of the answer; 0: no answer.",
            labels=["verb", "code"],
        )
        for (verb, code), count in self._api.calls.totals().items():
            calls.add_metric([verb, str(code)], float(count))
        yield calls

    def _queries(self) -> Iterator[Metric]:
        conditions = GaugeMetricFamily(
            "weir_query_condition",
            "1 when the condition is True, else 0.",
            labels=["namespace", "query", "type", "reason"],
        )
        headroom = GaugeMetricFamily(
            "weir_query_headroom",
            "Headroom: the factor by which all expected rates could grow until something is full.",
            labels=["namespace", "query"],
        )
        for query in self._cluster.queries():
            name = [query["metadata"]["namespace"], query["metadata"]["name"]]
            status: Mapping[str, Any] = query.get("status") or {}
            for condition in status.get("conditions") or ():
                conditions.add_metric(
                    [*name, condition["type"], condition.get("reason", "")],
                    float(condition["status"] == "True"),
                )
            if status.get("headroom") is not None:
                headroom.add_metric(name, float(status["headroom"]))
        yield conditions
        yield headroom

    def _unreadable(self) -> Metric:
        left_out = GaugeMetricFamily(
            "weir_operator_unreadable_objects",
            "Objects that are left out because of what they hold; the log names object, field and value.",
            labels=["kind", "namespace"],
        )
        for (kind, namespace), count in self._cluster.unreadable_objects().items():
            left_out.add_metric([kind, namespace], float(count))
        return left_out

    def _off_pin(self) -> Metric:
        misplaced = GaugeMetricFamily(
            "weir_fragment_off_node",
            "1 when a fragment's pod is not on its planned node, else 0.",
            labels=["fragment", "epoch"],
        )
        for process in self._cluster.processes:
            if process.node:
                misplaced.add_metric(
                    [process.fragment, str(process.epoch)], float(process.node != process.planned_node)
                )
        return misplaced
