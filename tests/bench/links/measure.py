"""Each contender on each set of queries, one after the other, and what is known after each rate."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weir_operator.kube.api import Api

from tests.bench.links import cluster, page
from tests.bench.links.contenders import PLACES, Setting, make, put, remove
from tests.bench.links.pace import PaceCourse, tell
from tests.bench.links.pods.feed import FeedPlan, write
from tests.bench.links.queries import servers, topics
from tests.bench.links.rows import STREAMS, Written
from tests.bench.links.rows import write as write_rows
from tests.bench.links.search import BEGIN, Found, climb
from tests.bench.links.shaping import ShapedSite, sent
from tests.e2e.kubectl import wait_until

DEPLOYED = 120.0
"""[s] until a contender works and what gets through is known: none is begun without as much, and time for one
rate."""
WARM = 20.0
"""[rows/s] sent until a contender works."""
PULSE = Path("/proc/stat")
TICKS = 100.0


@dataclass
class Bench:
    """`results` are what was measured under these conditions, kept in `file` and on the page in `out`."""

    setting: Setting
    places: Mapping[str, ShapedSite]
    conditions: page.Conditions
    api: Api
    file: Path
    out: Path
    results: list[page.LinkResult]
    failed: list[str] = field(default_factory=list)

    def run(self, queries: Sequence[str], contenders: Sequence[str], minutes: float) -> None:
        """All of them; one that fails leaves what it had measured, and is told in `failed`."""
        end = time.monotonic() + minutes * 60
        rows = {chosen: write_rows(self.setting.folder / "links", chosen) for chosen in queries}
        for chosen in queries:
            for name in contenders:
                text = f"{chosen}, {PLACES[name]}"
                previous = self._found(chosen, name)
                if previous.tries and previous.following is None:
                    tell(f"{text}: is in {self.file.name}")
                elif end - time.monotonic() < DEPLOYED + self.conditions.seconds:
                    tell(f"{text}: no time is left")
                    self.failed.append(text)
                else:
                    tell(text)
                    try:
                        self.measure(chosen, name, rows[chosen], end)
                    except (AssertionError, OSError, RuntimeError, subprocess.SubprocessError) as error:
                        tell(f"{text}: {error}")
                        self.failed.append(text)

    def measure(self, chosen: str, name: str, written: Written, end: float) -> None:
        """One contender on one set of queries, from nothing to nothing."""
        folder = self.setting.folder / "links"
        prefix = f"{name}-{int(time.time()) % 100_000}-"
        contender = make(name, self.setting, chosen, prefix, self.api)
        zones = tuple(dict.fromkeys(stream.origin for stream in STREAMS[chosen]))
        course = PaceCourse(folder, written, zones, contender, self.crossed, busy)
        try:
            self._feed(chosen, prefix, written, zones)
            course.set_rate(WARM)
            contender.start()
            where = contender.where()
            tell("  " + ", ".join(f"{pod} on {node}" for pod, node in sorted(where.items())))

            def tell_all(results: Found) -> None:
                self._keep(page.LinkResult(chosen, name, results, where))

            previous = self._found(chosen, name)
            through = course.capacity(previous.following or self.first())
            course.drain()
            if not previous.tries:  # once more: a JVM that has seen no load is several times slower
                through = course.capacity(through)
            climb(
                previous.following or BEGIN * through,
                lambda rate: course.hold(rate, self.conditions.seconds),
                lambda: end - time.monotonic() > self.conditions.seconds,
                tell_all,
                previous,
            )
        finally:
            contender.stop()
            remove(self.setting, "pods", *(f"feed-{zone}" for zone in zones))

    def first(self) -> float:
        """[rows/s] of the first probe: as much as fits when every row crosses the same link once."""
        return self.conditions.bits / 8 / (self.conditions.payload + 150)

    def crossed(self) -> dict[str, int]:
        """Bytes over each link so far, by `from>to`."""
        return {f"{a}>{b}": count for (a, b), count in sent(self.places).items()}

    def _found(self, chosen: str, name: str) -> Found:
        """What an earlier run has found, or this one so far."""
        return next((r.found for r in self.results if (r.queries, r.contender) == (chosen, name)), Found(()))

    def _feed(self, chosen: str, prefix: str, written: Written, zones: Sequence[str]) -> None:
        folder = self.setting.folder / "links"
        for path in [*folder.glob("sent-*.json"), folder / "pace.json"]:
            path.unlink(missing_ok=True)
        plan = FeedPlan(
            rows=chosen,
            prefix=prefix,
            topics=topics(chosen, prefix),
            maker=zones[0],
            payload=self.conditions.payload,
            cycle=written.cycle,
            period=written.period,
            servers=servers(),
        )
        write(folder / "feed.json", vars(plan))
        put(self.setting, [cluster.feeder(zone) for zone in zones])
        wait_until(
            90, "the feeders", lambda: all((folder / f"sent-{z}.json").exists() for z in zones), every=1
        )

    def _keep(self, result: page.LinkResult) -> None:
        key = (result.queries, result.contender)
        self.results = [r for r in self.results if (r.queries, r.contender) != key] + [result]
        page.save(self.file, self.conditions, self.results)
        page.publish(self.out, self.conditions, self.results, "make bench-links")


def busy() -> float:
    """CPU seconds of this machine so far, of everything but idling and waiting."""
    user, nice, system, _, _, *others = map(float, PULSE.read_text().split("\n", 1)[0].split()[1:8])
    return (user + nice + system + sum(others)) / TICKS
