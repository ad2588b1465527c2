"""The systems compared: how each is deployed, and how much of its streams it has read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from weir_operator.controller.exposition import parse_metrics
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError
from weir_placement.model.fragment import FragmentSpec

from tests.bench.links import cluster
from tests.bench.links.pods.plain import BaselineJob
from tests.bench.links.queries import NAME, PLAIN, ddl, servers, weir_objects
from tests.bench.links.rows import STREAMS
from tests.e2e.flights import drivers, off_their_pin, wait_ready
from tests.e2e.kubectl import apply, get, kubectl, wait_until

PLACES = {
    "plain-job": "one plain Spark job in the delivery zone",
    "spark-default": "Spark's default placement",
}
PLACES |= {"round-robin": "Weir, round-robin plan", "weir": "Weir's plan"}
STRATEGIES = {"round-robin": "round-robin", "weir": "auto"}
EXECUTORS = 2
"""Spark's own default."""


@dataclass(frozen=True)
class Setting:
    """What all contenders of a run share. `folder` is the namespace's volume as this machine sees it."""

    namespace: str
    folder: Path
    payload: int
    bits: int
    trigger: int


@dataclass(frozen=True)
class Reading:
    """Rows of each stream that its slowest reader has taken, and of each flow inside (produced, taken)."""

    at: float
    streams: Mapping[str, float]
    flows: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Contender(Protocol):
    """One of them, on one set of queries."""

    def start(self) -> None:
        """Returns when it processes rows."""

    def reading(self) -> Reading | None:
        """None when it cannot be determined at the moment."""

    def where(self) -> dict[str, str]:
        """Node of each of its pods."""

    def stop(self) -> None:
        """Returns when no part of it runs any more."""


@dataclass
class Plain:
    """Spark alone; with executors it is a Spark application as Kubernetes places it."""

    setting: Setting
    chosen: str
    prefix: str
    executors: int

    def start(self) -> None:
        folder = self.setting.folder / "links"
        job = BaselineJob(
            prefix=self.prefix,
            servers=servers(),
            streams={s.name: (ddl(s), f"{s.watermark_ms} milliseconds") for s in STREAMS[self.chosen]},
            queries=PLAIN[self.chosen],
            trigger=self.setting.trigger,
            cores=1 if self.executors else 2,
            executors=self.executors,
        )
        (folder / "plain.json").write_text(json.dumps(asdict(job)))
        (folder / "read.json").unlink(missing_ok=True)
        (folder / "executor.json").write_text(json.dumps(cluster.executor_template()))
        put(self.setting, cluster.spark_application() if self.executors else [cluster.plain_job()])
        wait_until(240, "the first batch of the plain application", self._works, every=1)

    def _works(self) -> bool:
        for pod in get("pods", "-n", self.setting.namespace, "-l", "app=plain"):
            assert pod["status"].get("phase") != "Failed", kubectl(
                "logs", "-n", self.setting.namespace, "plain", "--tail=40"
            )
        reading = self.reading()
        return reading is not None and all(reading.streams.get(s.name) for s in STREAMS[self.chosen])

    def reading(self) -> Reading | None:
        try:
            document = json.loads((self.setting.folder / "links" / "read.json").read_text())
        except FileNotFoundError:
            return None
        return Reading(document["at"], slowest(document["read"].values()))

    def where(self) -> dict[str, str]:
        pods = get("pods", "-n", self.setting.namespace, "-l", "app in (plain,plain-executor)")
        return {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in pods}

    def stop(self) -> None:
        remove(self.setting, "pods", "-l", "app in (plain,plain-executor)")


def slowest(readers: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Of each stream, the fewest rows that one of its readers has taken."""
    counts: dict[str, float] = {}
    for taken in readers:
        for stream, count in taken.items():
            counts[stream] = min(counts.get(stream, count), count)
    return counts


@dataclass
class Counted:
    """A counter that continues when its process restarts."""

    before: float = 0.0
    last: float = 0.0

    def total(self, value: float) -> float:
        """Over all restarts; what was counted after the last reading before a restart is lost."""
        if value < self.last:
            self.before += self.last
        self.last = value
        return self.before + value


@dataclass
class PlacedContender:
    """Weir with one of its strategies."""

    setting: Setting
    chosen: str
    prefix: str
    strategy: str
    api: Api
    fragments: dict[str, FragmentSpec] = field(default_factory=dict)
    counts: dict[tuple[str, str, str], Counted] = field(default_factory=dict)

    def start(self) -> None:
        s = self.setting
        apply(weir_objects(s.namespace, self.chosen, self.prefix, s.payload, s.bits, self.strategy))
        wait_ready(s.namespace, 420, tuple(PLAIN[self.chosen]))
        assert not off_their_pin(s.namespace), off_their_pin(s.namespace)
        for pod in drivers(s.namespace):
            spec = FragmentSpec.from_json(pod["metadata"]["annotations"][names.SPEC])
            self.fragments[pod["metadata"]["name"]] = spec
        wait_until(180, "rows of every stream taken", self._works, every=2)

    def _works(self) -> bool:
        reading = self.reading()
        return reading is not None and all(reading.streams.get(s.name) for s in STREAMS[self.chosen])

    def reading(self) -> Reading | None:
        try:
            operators_of = {pod: self._operators(pod) for pod in self.fragments}
        except ApiError:
            return None
        at = time.time()
        rows_out = {
            (self.fragments[pod].query, name): out
            for pod, operators in operators_of.items()
            for name, (_, out) in operators.items()
        }
        readers, flows = [], {}
        for pod, operators in operators_of.items():
            spec = self.fragments[pod]
            for item in spec.inputs:
                took = operators.get(item.name, (0.0, 0.0))[0]
                if item.kind == "source":
                    readers.append({item.stream.rpartition("/")[2]: took})
                else:
                    flows[f"{spec.query}/{item.name}"] = (rows_out.get((spec.query, item.name), 0.0), took)
        return Reading(at, slowest(readers), flows)

    def _operators(self, pod: str) -> dict[str, tuple[float, float]]:
        """Rows into and out of each operator and input of a fragment."""
        path = f"/api/v1/namespaces/{self.setting.namespace}/pods/{pod}:{names.RUNTIME_PORT}/proxy/metrics"
        spec = self.fragments[pod]
        metrics = parse_metrics(self.api.text(path), spec.name, spec.epoch, time.time()).operators
        return {
            name: (
                self.counts.setdefault((pod, name, "in"), Counted()).total(seen.rows_in),
                self.counts.setdefault((pod, name, "out"), Counted()).total(seen.rows_out),
            )
            for name, seen in metrics.items()
        }

    def where(self) -> dict[str, str]:
        return {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in drivers(self.setting.namespace)}

    def stop(self) -> None:
        remove(self.setting, "streamqueries", "--all")
        selector = "weir.dev/role in (driver,sweep)"
        pods = ("pods", "-n", self.setting.namespace, "-l", selector)
        wait_until(180, "fragments are gone", lambda: not get(*pods))
        remove(self.setting, "streams", "--all")
        for kind in ("placementpolicy", "networktopology"):
            kubectl("delete", kind, NAME, "--ignore-not-found")


def make(name: str, setting: Setting, chosen: str, prefix: str, api: Api) -> Contender:
    """The contender of that name. Raises KeyError for another name."""
    if name in STRATEGIES:
        return PlacedContender(setting, chosen, prefix, STRATEGIES[name], api)
    return Plain(setting, chosen, prefix, {"plain-job": 0, "spark-default": EXECUTORS}[name])


def put(setting: Setting, objects: list[cluster.Manifest]) -> None:
    """Into the run's namespace."""
    apply([o | {"metadata": o["metadata"] | {"namespace": setting.namespace}} for o in objects])


def remove(setting: Setting, *what: str) -> None:
    """From it, and waits until it is gone."""
    kubectl("delete", *what, "-n", setting.namespace, "--timeout=120s", "--ignore-not-found", timeout=150)
