"""Which earlier reading a measurement is the difference to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from weir_operator.controller.loop import WARM, WINDOW, Loop
from weir_operator.controller.observed_state import FragmentMetrics, Process

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, loop


@dataclass
class Scraped:
    """Each process is measured every `interval` seconds, and tells of one batch a second of its life."""

    cluster: FakeCluster
    interval: float = 0.0
    born: dict[str, float] = field(default_factory=dict)

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        now = self.cluster.time
        at = now - now % self.interval if self.interval else now
        return {
            p.fragment: FragmentMetrics(
                p.fragment, p.epoch, at, batches=at - self.born.setdefault(p.fragment, at)
            )
            for p in processes
        }


def measured(interval: float = 0.0) -> tuple[FakeCluster, Scraped, Loop]:
    cluster = FakeCluster(time=1000.0)
    cluster.processes["f", 1] = Process("f", 1, "n1", "n1", "running", 0.0)
    scraped = Scraped(cluster, interval)
    it = loop(Scenario({}), cluster, scraped)
    it.cluster.apply = lambda action: None  # type: ignore[method-assign]  # the process is nobody's: let it be
    return cluster, scraped, it


def spans(it: Loop, rounds: int) -> list[float]:
    """Of each round the seconds between the two readings; 0 where there are no two."""
    seconds = []
    for _ in range(rounds):
        it.once()
        assert it.observed is not None
        now, before = it.observed.metrics["f"], it.observed.previous_metrics.get("f")
        seconds.append(now.at - before.at if before else 0.0)
    return seconds


@pytest.mark.parametrize("interval", [0.0, 5.0, 15.0, 60.0])
def test_every_round_has_a_measurement_however_seldom_it_is_scraped(interval: float) -> None:
    _, _, it = measured(interval)
    spans(it, int(WARM + WINDOW + 2 * interval) + 2)
    assert all(WINDOW <= span <= max(WINDOW + 1, interval) for span in spans(it, 200))


def test_rounds_in_quick_succession_are_not_all_kept() -> None:
    cluster, _, it = measured()
    for _ in range(500):
        it.once()
        cluster.time -= 0.99  # a look takes the cluster a second on
    assert len(it.readings["f"]) <= WINDOW + 2


def test_a_life_is_not_measured_against_the_one_before() -> None:
    cluster, scraped, it = measured()
    spans(it, 40)
    scraped.born["f"] = cluster.time  # started again in its place: its totals begin anew
    assert set(spans(it, int(WARM + WINDOW) - 1)) == {0.0}
    assert spans(it, 10)[-1] >= WINDOW


def test_what_is_gone_is_forgotten() -> None:
    cluster, _, it = measured()
    spans(it, 20)
    assert set(it.readings) == {"f"}
    cluster.processes.clear()
    it.once()
    assert not it.readings
