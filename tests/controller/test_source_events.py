"""What fragments do about lost rows and silent partitions is said by Events, once each time it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir_operator.controller.exposition import parse_metrics
from weir_operator.controller.observed_state import FragmentMetrics, Process

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import condition, loop, one_query, settle

TEXT = """\
weir_lost_rows_total{query="default/q",fragment="f",operator="a"} %d
weir_idle_partitions{query="default/q",fragment="f",operator="a"} %d
weir_idle_partitions{query="default/q",fragment="f",operator="b"} 1
weir_held_back{query="default/q",fragment="f"} %d
weir_silent_seconds{query="default/q",fragment="f",operator="a"} %d
weir_lost_files_total{query="default/q",fragment="f",operator="a"} %d
"""
MISSING = 'weir_missing_file{query="default/q",fragment="f",operator="a"} %d\n'


@dataclass
class Measured:
    """The same of every process."""

    lost: int = 0
    idle: int = 0
    held_back: int = 0
    silent: int = 0
    lost_files: int = 0
    missing: int | None = None

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        text = TEXT % (self.lost, self.idle, self.held_back, self.silent, self.lost_files)
        text += "" if self.missing is None else MISSING % self.missing
        return {p.fragment: parse_metrics(text, p.fragment, p.epoch, 0.0) for p in processes}


def test_each_is_said_when_it_begins_and_when_it_changes() -> None:
    cluster, measured = FakeCluster(), Measured(idle=1)
    it = loop(one_query(), cluster, measured)
    settle(it)
    settle(it)
    fragments = sorted(process.fragment for process in cluster.processes.values())
    silent = [event.message for event in cluster.events if event.reason == "PartitionIdle"]
    assert sorted(silent) == [
        f"{name}: the event-time clock does not wait for 2 idle partitions" for name in fragments
    ]
    assert not [event for event in cluster.events if event.reason == "RowsLost"]
    measured.lost = 4
    settle(it)
    losses = [event for event in cluster.events if event.reason == "RowsLost"]
    assert len(losses) == len(fragments)
    assert all(event.warning and "skipped 4 rows" in event.message for event in losses)
    measured.lost_files = 1
    settle(it)
    assert any(e.reason == "RowsLost" and "skipped 1 file that" in e.message for e in cluster.events)


def test_a_producer_that_waits_for_its_reader_says_so() -> None:
    cluster, measured = FakeCluster(), Measured()
    it = loop(one_query(), cluster, measured)
    settle(it)
    assert not [event for event in cluster.events if event.reason == "HeldBack"]
    measured.held_back = 1
    settle(it)
    settle(it)
    waits = [event for event in cluster.events if event.reason == "HeldBack"]
    assert all(event.warning and "until the slowest reader" in event.message for event in waits)
    assert len(waits) == len(cluster.processes)


def waiting(cluster: FakeCluster) -> tuple[str, str, str]:
    present = cluster.statuses["default/q"]["conditions"]
    return next((c["status"], c["reason"], c["message"]) for c in present if c["type"] == "Waiting")


def test_what_a_query_waits_for_is_a_condition() -> None:
    cluster, measured = FakeCluster(), Measured(idle=-1)  # -1 + 1: none
    it = loop(one_query(), cluster, measured)
    settle(it)
    assert waiting(cluster) == ("False", "No", "")
    for change, reason, words in (
        ({"silent": 901}, "SourceSilent", "has had no row from a for more than 15 min"),
        ({"missing": 0}, "FileMissing", "file 0000000000 of a is missing, and later ones are there; "),
        ({"held_back": 1}, "HeldBack", "slowest reader of its output catches up; "),
    ):
        for name, value in change.items():
            setattr(measured, name, value)
        settle(it)
        status, reason_shown, message = waiting(cluster)
        assert (status, reason_shown) == ("True", reason)
        assert words in message
        assert condition(cluster, "q", "Ready") == "True", "it is as its spec says"
    measured.held_back = measured.silent = 0
    measured.missing = None
    settle(it)
    assert waiting(cluster) == ("False", "No", "")
