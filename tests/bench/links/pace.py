"""Sending at a rate, and watching how far behind a contender is meanwhile."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.links.contenders import Contender, Reading
from tests.bench.links.lag import FLAT, History, LagSample, Trial, behind, slope
from tests.bench.links.pods.feed import target, write
from tests.bench.links.rows import Written
from tests.bench.links.search import got_through

LOOK = 2.5
"""[s] between two readings."""
AHEAD = 0.5
"""[s] a new rate is written so long before it holds: every feeder has seen it by then."""
SETTLE = 24.0
"""[s] after a change of the rate that do not count."""
PROBE = 40.0
"""[s] that a probe takes; what got through in its second half counts."""
TOO_MUCH = 0.15
"""[s/s] A lag that grows so fast in a probe means that the contender has reached its limit."""
DRAINED = 12.0
"""[s] A lag below this is as good as none: batches take their time."""
EARLY = 45.0
"""[s] after which a lag that clearly grows ends the trial."""
MOST = 1e6


def tell(text: str) -> None:
    """Progress, on standard error."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


@dataclass
class PaceCourse:
    """One contender's run over one set of queries.

    Attributes:
        folder: shared with the feeders.
        bytes: counters of the links, by `from>to`.
        busy: CPU seconds of the whole machine so far.
    """

    folder: Path
    written: Written
    zones: tuple[str, ...]
    contender: Contender
    bytes: Callable[[], Mapping[str, int]]
    busy: Callable[[], float]
    sent: dict[str, History] = field(default_factory=dict)
    produced: dict[str, History] = field(default_factory=dict)
    pace: list[dict[str, float]] = field(default_factory=list)
    last: Reading | None = None

    def set_rate(self, rate: float) -> None:
        """[rows/s] of all streams together, soon from now on."""
        at = time.time() + AHEAD
        self.pace = [*self.pace[-1:], {"at": at, "position": target(self.pace, at), "rate": rate}]
        write(self.folder / "pace.json", self.pace)

    def look(self) -> LagSample:
        """One reading: the lag of the slowest reader of all streams and flows."""
        for zone in self.zones:
            path = self.folder / f"sent-{zone}.json"
            document = json.loads(path.read_text()) if path.exists() else {"sent": {}, "at": time.time()}
            if document.get("rows_late", 0) > 1000:
                tell(f"the feeder in {zone} is {document['rows_late']:.0f} rows late: it is the bottleneck")
            for stream, count in document["sent"].items():
                self.sent.setdefault(stream, History()).add(document["at"], count)
        reading = self.contender.reading()
        self.last = reading or self.last
        now = time.time()
        if self.last is None:
            return LagSample(now, 0.0)
        lags = [behind(history, self.last.streams.get(s, 0.0), now) for s, history in self.sent.items()]
        for name, (produced, taken) in self.last.flows.items():
            history = self.produced.setdefault(name, History())
            history.add(self.last.at, produced)
            lags.append(behind(history, taken, now))
        return LagSample(now, max(lags, default=0.0))

    def watch(
        self, seconds: float, enough: Callable[[list[LagSample]], bool] = lambda s: False
    ) -> list[LagSample]:
        """Samples for so long, or until they are enough."""
        end, samples = time.monotonic() + seconds, [self.look()]
        while time.monotonic() < end and not enough(samples):
            time.sleep(LOOK)
            samples.append(self.look())
        return samples

    def taken(self) -> list[float]:
        """Rows of each stream, by its slowest reader."""
        streams = self.last.streams if self.last else {}
        return [streams.get(name, 0.0) for name in sorted(self.written.share)]

    def capacity(self, begin: float) -> float:
        """[rows/s] that get through when there is more: the rate is doubled until the lag grows."""
        rate = begin
        while True:
            self.set_rate(rate)
            self.watch(PROBE / 2)
            before, at = self.taken(), self._read_at()
            samples = self.watch(PROBE / 2)
            through = got_through(before, self.taken(), max(self._read_at() - at, 1e-3))
            grows = slope(samples) if len(samples) > 4 else 0.0
            lag = samples[-1].lag
            tell(f"  probe {rate:.0f} rows/s: {through:.0f} get through, lag {lag:.1f} s {grows:+.2f} s/s")
            if grows > TOO_MUCH or lag > PROBE / 2 or rate > MOST:
                return min(through, rate) if through > 0 else rate / 2
            rate *= 2

    def drain(self, limit: float = 240.0) -> None:
        """Almost nothing is sent until the contender has caught up."""
        self.set_rate(max(2.0, self.pace[-1]["rate"] / 50))
        self.watch(limit, lambda samples: samples[-1].lag < DRAINED)

    def hold(self, rate: float, seconds: float) -> Trial:
        """Holds one rate for that long, or less if the lag is clearly growing."""
        if self.look().lag > DRAINED:
            self.drain()
        self.set_rate(rate)
        self.watch(SETTLE)
        begin, crossed, cpu = time.time(), self.bytes(), self.busy()
        before, at = self.taken(), self._read_at()

        def clear(samples: list[LagSample]) -> bool:
            elapsed = samples[-1].at - samples[0].at
            return (
                elapsed > EARLY and slope(samples) > 4 * FLAT and samples[-1].lag > samples[0].lag + DRAINED
            )

        samples = self.watch(seconds, clear)
        elapsed, after = time.time() - begin, self.bytes()
        trial = Trial(
            rate=rate,
            read=got_through(before, self.taken(), max(self._read_at() - at, 1e-3)),
            slope=slope(samples),
            lag=sum(s.lag for s in samples) / len(samples),
            seconds=elapsed,
            cores=(self.busy() - cpu) / elapsed,
            links={link: (after[link] - crossed[link]) / elapsed for link in after},
        )
        text = "flat" if trial.flat else "not flat"
        busiest = max(trial.links, key=lambda link: trial.links[link])
        tell(
            f"  {rate:.0f} rows/s for {elapsed:.0f} s: {text}, lag {trial.lag:.1f} s {trial.slope:+.3f} s/s, "
            f"{trial.cores:.1f} cores, {busiest} {trial.links[busiest] / 1e6:.2f} MB/s"
        )
        return trial

    def _read_at(self) -> float:
        return self.last.at if self.last else time.time()
