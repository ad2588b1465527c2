"""A machine whose clock is behind puts no row of now away as one of the future."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from weir_runtime.logs.dead_letters import BadRows
from weir_runtime.logs.log import Log, Place
from weir_runtime.sources import source_log
from weir_runtime.sources.kafka.log import KafkaLog

from tests.runtime.support import ORIGIN, append_batch, files_output, fragment, launch, source, state
from tests.runtime.test_kafka_beginnings import ORIGIN as TOPIC_ORIGIN
from tests.runtime.test_kafka_beginnings import SCHEMA, Brokers

SECOND = 1_000_000
AHEAD = 60 * SECOND


class FaultyClock:
    """Its true time, in seconds since the first row, and by how much its clock is wrong."""

    def __init__(self, origin: int) -> None:
        self.origin = origin
        self.at = 0
        self.wrong = 0

    def time_ns(self) -> int:
        return (self.origin + (self.at + self.wrong) * SECOND) * 1_000

    def monotonic_ns(self) -> int:
        return (1_000_000 + self.at) * 1_000_000_000


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FaultyClock:
    here = FaultyClock(ORIGIN)
    monkeypatch.setattr(time, "time_ns", here.time_ns)
    monkeypatch.setattr(time, "monotonic_ns", here.monotonic_ns)
    return here


@pytest.fixture(params=["files", "kafka"])
def feed(
    request: pytest.FixtureRequest, tmp_path: Path, machine: FaultyClock, monkeypatch: pytest.MonkeyPatch
) -> tuple[Callable[[], Log], Callable[[int], None]]:
    """Opens the log as another process does, and adds a row of a second."""
    if request.param == "files":
        item = replace(source("a", tmp_path / "a"), max_ahead=AHEAD)
        count = iter(range(1_000))
        return (
            lambda: source_log(item, str(tmp_path / "late")),
            lambda second: append_batch(tmp_path / "a", next(count), [(1, second, second * SECOND + 1)]),
        )
    machine.origin = TOPIC_ORIGIN
    brokers = Brokers({"0": []})
    monkeypatch.setattr(KafkaLog, "_reader", lambda log: brokers)
    options, late = {"bootstrapServers": "b:1", "topic": "t"}, str(tmp_path / "late")
    return (
        lambda: KafkaLog(options, SCHEMA, "ts", 0, late, bad_rows=BadRows(ahead=AHEAD)),
        brokers.seconds["0"].append,
    )


def step(log: Log, place: Place) -> Place:
    while (following := log.advance(place, 0, 64).place) != place:
        place = following
    return place


def test_rows_of_now_are_read_however_long_the_clock_is_behind(
    machine: FaultyClock,
    feed: tuple[Callable[[], Log], Callable[[int], None]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Within a process that sees the step, and in one on another machine."""
    opened, add = feed
    log = opened()
    place = log.start()
    for second in range(0, 1_200, 20):
        machine.at = second
        machine.wrong = -120 if second >= 100 else 0
        if second in (400, 800):
            log = opened()
        add(second)
        place = step(log, place)
        assert place.get("bad", 0) == 0, second
        assert (log.clock_behind(place) > 60) == (machine.wrong < 0)
    assert "the clock of this machine is 120 s behind" in capfd.readouterr().err


def test_rows_of_the_future_are_still_left_out(
    machine: FaultyClock, feed: tuple[Callable[[], Log], Callable[[int], None]]
) -> None:
    opened, add = feed
    log = opened()
    add(0)
    place = step(log, log.start())
    machine.at, machine.wrong = 300, -120
    add(300 + 61)
    place = step(opened(), place)
    assert place["bad"] == 1
    machine.at, machine.wrong = 400, 0
    add(400)
    place = step(opened(), place)
    assert (place["bad"], log.clock_behind(place)) == (1, 0)


def test_a_place_of_an_earlier_version_is_read(
    machine: FaultyClock, feed: tuple[Callable[[], Log], Callable[[int], None]]
) -> None:
    opened, add = feed
    add(0)
    place = step(opened(), opened().start())
    before = {name: value for name, value in place.items() if name != "wall"}
    add(1)
    assert step(opened(), before).get("bad", 0) == 0


def test_a_clock_of_before_this_version_starts_nothing(tmp_path: Path) -> None:
    """As of a machine without a battery: all rows there are would be of the future."""
    append_batch(tmp_path / "a", 0, [(1, 1, 1)])
    spec = fragment(tmp_path, "f", [source("a", tmp_path / "a")], [], files_output(tmp_path / "out", "a.v"))
    program = (
        "-c",
        "import sys, time; time.time_ns = lambda: 86_400_000_000_000; sys.argv[0] = 'weir_runtime'; "
        "from weir_runtime.__main__ import main; raise SystemExit(main(sys.argv[1:]))",
    )
    assert launch(spec, program=program).wait(60) == 1
    assert "the clock of this machine shows 1970-01-02 00:00 UTC" in state(spec)["error"]
    assert not state(spec).get("refused"), "it is tried again, until the clock is set"
