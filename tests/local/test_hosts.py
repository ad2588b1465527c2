"""Fragments of a policy that share a process, on this machine with real Spark: kill, poison, move, audit."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from weir_operator.controller.observed_state import Process
from weir_operator.local.audit import audit

from tests.local.place import Place, shared_manifests

POISON = """---
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {name: broken}
spec:
  schema: k BIGINT, v BIGINT, ts TIMESTAMP
  eventTime: {column: ts, watermark: 1s}
  source: {files: {uri: in/broken, format: arrow}, onBadRow: Fail}
  origin: {node: n1}
  rate: 100
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {name: poison}
spec:
  sql: SELECT b.k, b.v FROM broken b WHERE b.v > 1
  sink: {files: {uri: out/poison, format: parquet}}
  deletionPolicy: Delete
  policy: near
"""


class SharedPlace(Place):
    """Three queries, one of which fails in its first batch, and a policy that shares processes."""

    def say(self, least: int = 10, cordoned: str = "false", text: str | None = None) -> None:
        parts = shared_manifests(least, cordoned)
        queries = [part for part in parts.split("---") if "kind: StreamQuery" in part]
        more = [q.replace("name: sums", "name: least").replace("out/sums", "out/least") for q in queries]
        more = [q.replace("c.v >", "c.v <") for q in more]
        super().say(text="---".join([parts, *more]) + POISON)

    def processes(self, query: str) -> list[Process]:
        """Of one query, those that are not stopped."""
        processes = self.machine.cluster.processes.observe()
        return [p for p in processes if p.fragment.startswith(query) and p.state != "stopped"]

    def run_on(self, node: str) -> bool:
        """Whether both good queries run there and nowhere else."""
        of_both = [self.processes(query) for query in ("sums", "least")]
        return all([(p.node, p.state) for p in of_one] == [(node, "running")] for of_one in of_both)

    def host_pid(self) -> int:
        """Of the one host."""
        hosts = self.machine.cluster.processes.hosts
        (host,) = hosts.live()
        pid = hosts.pid(host)
        assert pid is not None
        return pid

    def end(self) -> None:
        for machine in self.machines:
            machine.cluster.processes.stop_all()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SharedPlace]:
    (tmp_path / "in" / "broken").mkdir(parents=True)
    (tmp_path / "in" / "broken" / "0000000000.arrow").write_bytes(b"no such thing")
    it = SharedPlace(tmp_path)
    yield it
    it.end()


def test_a_host_is_killed_a_poison_fails_alone_and_both_others_move(place: SharedPlace) -> None:
    place.feed(3)
    place.until(lambda: place.run_on("n1") and place.committed(1), "both queries on n1")
    place.until(
        lambda: any(p.restarts and "onBadRow: Fail" in p.message for p in place.processes("poison")),
        "the poison is tried again, and says why",
    )
    assert [p.restarts for query in ("sums", "least") for p in place.processes(query)] == [0, 0]

    pid = place.host_pid()
    os.killpg(pid, signal.SIGKILL)
    place.feed(3)
    place.until(lambda: place.run_on("n1") and place.host_pid() != pid, "both in a new process")

    place.machine = place.build()  # the controller is gone, its successor finds the host
    place.say(cordoned="true")
    place.feed(3)
    place.until(lambda: place.run_on("n2"), "both moved")

    place.feed(6, end=True)
    done = ("sums", "least")
    place.until(lambda: all(p.state == "finished" for q in done for p in place.processes(q)), "the end")
    group = place.group()
    for query in done:
        verdict = audit(group.queries[f"default/{query}"], group.problem.streams)
        assert verdict.rows > 0
        assert verdict.good, (query, verdict)
