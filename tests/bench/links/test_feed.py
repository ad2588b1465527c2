"""What the feeders send, and where its topics are made."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from tests.bench.links import rows
from tests.bench.links.pods import feed, plain
from tests.bench.links.queries import topics

RACKS = {1: "newyork", 2: "west", 3: "atlanta"}


@pytest.mark.parametrize("chosen", ["flights", "three-way"])
def test_each_stream_lies_in_its_zone_and_results_in_the_third(chosen: str) -> None:
    assignments = feed.assignments(topics(chosen, "p-"), RACKS)
    streams = {s.name: s.origin for s in rows.STREAMS[chosen]}
    assert set(streams.values()) == {"newyork", "west"}
    for topic, settings in assignments.items():
        ((partition, (broker,)),) = settings["assignments"].items()
        assert partition == 0
        assert RACKS[broker] == streams.get(topic.removeprefix("p-"), "atlanta")


def test_a_zone_without_a_broker_is_named() -> None:
    with pytest.raises(SystemExit, match="no broker in west"):
        feed.assignments({"t": "west"}, {1: "newyork"})


def test_topics_of_other_runs_are_left_over() -> None:
    assert feed.left_over(["__consumer_offsets", "a-x", "b-x"], "b-") == ["a-x"]


def test_feeders_keep_step_by_the_clock_and_change_their_pace_at_one_moment() -> None:
    pace = [{"at": 10.0, "position": 0.0, "rate": 100.0}, {"at": 20.0, "position": 1000.0, "rate": 10.0}]
    assert [feed.target(pace, now) for now in (9, 10, 15, 20, 30)] == [0, 0, 500, 1000, 1100]


@pytest.fixture(scope="module")
def three_way(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, rows.Written]:
    folder = tmp_path_factory.mktemp("rows")
    return folder, rows.write(folder, "three-way", rounds=50)


def test_every_row_is_in_the_file_of_its_zone_once(three_way: tuple[Path, rows.Written]) -> None:
    folder, written = three_way
    files = {path.stem.removeprefix("three-way-"): path.read_text().splitlines() for path in folder.iterdir()}
    assert set(files) == {"newyork", "west"}
    positions = sorted(int(line.split("\t")[0]) for lines in files.values() for line in lines)
    assert positions == list(range(written.cycle))
    assert written.share == {"ab": 1 / 3, "bc": 1 / 3, "cd": 1 / 3}


def test_rows_come_again_with_later_positions_and_times(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text('0\tx\t5\t"a": 1}\n2\tx\t7\t"a": 2}\n')
    first = list(itertools.islice(feed.rows(tmp_path / "f.tsv", 3, 100), 4))
    assert [(position, at) for position, _, at, _ in first] == [(0, 5), (2, 7), (3, 105), (5, 107)]


def test_a_row_that_happens_when_it_is_sent_stays_so(three_way: tuple[Path, rows.Written]) -> None:
    folder, written = three_way
    three_cycles = itertools.islice(
        feed.rows(folder / "three-way-west.tsv", written.cycle, written.period), 3 * written.cycle
    )
    assert {at for _, _, at, _ in three_cycles} == {feed.NOW}


def test_a_message_is_json_with_time_and_payload() -> None:
    text = feed.TextClock().text(1_357_000_000_000_123)
    value = json.loads(feed.message(text, "xyz", '"a": 1}'))
    assert value == {"ts": "2013-01-01T00:26:40.000123Z", "payload": "xyz", "a": 1}


def test_flights_are_in_the_order_of_their_times() -> None:
    lines = list(rows.flight_lines(hours=6))
    assert {name for name, _, _ in lines} == {"departures", "arrivals", "weather"}
    times = [at for _, at, _ in lines]
    assert times == sorted(times)
    assert all(isinstance(json.loads("{" + rest)["month"], int) for _, _, rest in lines)


def test_what_spark_has_taken_is_read_from_its_offsets() -> None:
    report = {
        "sources": [
            {"endOffset": '{"p-ab":{"0":12}}'},
            {"endOffset": {"p-bc": {"0": 5, "1": 6}}},
            {"endOffset": None},
        ]
    }
    assert plain.taken(report, "p-") == {"ab": 12, "bc": 11}
