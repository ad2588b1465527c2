"""A query that begins from a snapshot: with the plan of the one it is of, under names of its own, and after
the state is laid down."""

from __future__ import annotations

from typing import Any

from tests.controller.objects import stream
from tests.controller.scenario import settle
from tests.controller.test_deleted_queries import FIRST, SECOND, DeletedTown, asked

FROM = {"restoreFrom": {"snapshot": {"name": "s1"}}}


def with_snapshot(**spec: Any) -> DeletedTown:
    """A cluster in which nothing runs, and a snapshot of a query that did."""
    town = DeletedTown(deletionPolicy="Delete", **spec)
    placement = town.cluster.placements["default/q"]
    town.cluster.snapshots["default/s1"] = {"query": "default/q", "placement": placement.spec}
    town.delete()
    return town


def operators(town: DeletedTown) -> list[list[str]]:
    return [f["operators"] for f in town.cluster.placements["default/q"].spec["fragments"]]


def test_it_begins_with_the_plan_of_the_snapshot_under_its_own_names() -> None:
    town = DeletedTown(deletionPolicy="Delete")
    first, before = set(town.running()), operators(town)
    town = with_snapshot()
    town.apply(asked(SECOND, sink={"files": {"uri": "/elsewhere"}}, **FROM))
    town.loop.once()
    assert town.cluster.restored, "before anything starts"
    assert not town.cluster.processes
    settle(town.loop)
    assert town.ready()[0] == "True"
    assert operators(town) == before
    assert set(town.running()) == town.cluster.restored
    assert not first & set(town.running())
    assert [e.reason for e in town.cluster.events].count("Restored") == 1

    # an edit afterwards is one like any other: its fragments begin at a cut, not from the snapshot
    town.apply(asked(SECOND, sql="SELECT s.k FROM s AS s WHERE s.k > 2", **FROM))
    settle(town.loop)
    assert town.ready()[0] == "True"
    assert not set(town.running()) & town.cluster.restored
    assert town.cluster.placements["default/q"].spec["plan"]["since"] > 0


def test_what_cannot_be_laid_down_is_said_and_tried_again() -> None:
    town = with_snapshot()
    town.cluster.unfit = "file offsets/7 is damaged"
    town.apply(asked(SECOND, **FROM))
    for _ in range(5):
        town.loop.once()
    assert not town.cluster.processes
    assert "offsets/7 is damaged" in town.ready()[1]
    town.cluster.unfit = ""
    settle(town.loop)
    assert town.ready()[0] == "True"


def test_another_query_or_no_snapshot_is_refused() -> None:
    town = with_snapshot()
    town.apply(asked(SECOND, sql="SELECT s.k FROM s AS s WHERE s.k > 2", **FROM))
    settle(town.loop)
    assert "snapshot default/s1 belongs to another query: spec.sql" in town.ready()[1]
    town.apply(asked(SECOND, restoreFrom={"snapshot": {"name": "s2"}}))
    settle(town.loop)
    assert "no snapshot default/s2; snapshots: default/s1" in town.ready()[1]
    town.cluster.snapshots["default/s1"] = {"damaged": "manifest.json is damaged"}
    town.apply(asked(SECOND, **FROM))
    settle(town.loop)
    assert "manifest.json is damaged" in town.ready()[1]
    assert not town.cluster.processes
    assert not town.cluster.placements


def test_a_query_that_runs_does_not_begin_again() -> None:
    town = with_snapshot()
    town.apply(asked(FIRST))
    settle(town.loop)
    running = town.running()
    town.apply(asked(FIRST, **FROM))
    settle(town.loop)
    assert "began without restored state" in town.ready()[1]
    assert town.running() == running


def test_streams_may_have_other_names() -> None:
    town = with_snapshot()
    town.others.append(stream("t", "n2"))
    town.apply(asked(SECOND, sql="SELECT s.k FROM t AS s WHERE s.k > 1", **FROM))
    settle(town.loop)
    assert town.ready()[0] == "True"
    (source,) = (
        item
        for spec in town.cluster.placements["default/q"].spec["plan"]["told"]
        for item in spec["inputs"]
        if item["kind"] == "source"
    )
    assert source["stream"] == "default/t"
