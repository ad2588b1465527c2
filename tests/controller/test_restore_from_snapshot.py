"""A query that begins from a snapshot: with the plan of the one it is of, under names of its own, and after
the state is laid down."""

from __future__ import annotations

from typing import Any

from tests.controller.objects import stream
from tests.controller.scenario import settle
from tests.controller.test_deleted_queries import FIRST, SECOND, DeletedQueryScenario, asked

FROM = {"restoreFrom": {"snapshot": {"name": "s1"}}}


def with_snapshot(**spec: Any) -> DeletedQueryScenario:
    """A cluster in which nothing runs, and a snapshot of a query that did."""
    scenario = DeletedQueryScenario(deletionPolicy="Delete", **spec)
    placement = scenario.cluster.placements["default/q"]
    scenario.cluster.snapshots["default/s1"] = {"query": "default/q", "placement": placement.spec}
    scenario.delete()
    return scenario


def operators(scenario: DeletedQueryScenario) -> list[list[str]]:
    return [f["operators"] for f in scenario.cluster.placements["default/q"].spec["fragments"]]


def test_it_begins_with_the_plan_of_the_snapshot_under_its_own_names() -> None:
    scenario = DeletedQueryScenario(deletionPolicy="Delete")
    first, before = set(scenario.running()), operators(scenario)
    scenario = with_snapshot()
    scenario.apply(asked(SECOND, sink={"files": {"uri": "/elsewhere"}}, **FROM))
    scenario.loop.once()
    assert scenario.cluster.restored, "before anything starts"
    assert not scenario.cluster.processes
    settle(scenario.loop)
    assert scenario.ready()[0] == "True"
    assert operators(scenario) == before
    assert set(scenario.running()) == scenario.cluster.restored
    assert not first & set(scenario.running())
    assert [e.reason for e in scenario.cluster.events].count("Restored") == 1

    # an edit afterwards is one like any other: its fragments begin at a cut, not from the snapshot
    scenario.apply(asked(SECOND, sql="SELECT s.k FROM s AS s WHERE s.k > 2", **FROM))
    settle(scenario.loop)
    assert scenario.ready()[0] == "True"
    assert not set(scenario.running()) & scenario.cluster.restored
    assert scenario.cluster.placements["default/q"].spec["plan"]["since"] > 0


def test_what_cannot_be_laid_down_is_said_and_tried_again() -> None:
    scenario = with_snapshot()
    scenario.cluster.unfit = "file offsets/7 is damaged"
    scenario.apply(asked(SECOND, **FROM))
    for _ in range(5):
        scenario.loop.once()
    assert not scenario.cluster.processes
    assert "offsets/7 is damaged" in scenario.ready()[1]
    scenario.cluster.unfit = ""
    settle(scenario.loop)
    assert scenario.ready()[0] == "True"


def test_another_query_or_no_snapshot_is_refused() -> None:
    scenario = with_snapshot()
    scenario.apply(asked(SECOND, sql="SELECT s.k FROM s AS s WHERE s.k > 2", **FROM))
    settle(scenario.loop)
    assert "snapshot default/s1 belongs to another query: spec.sql" in scenario.ready()[1]
    scenario.apply(asked(SECOND, restoreFrom={"snapshot": {"name": "s2"}}))
    settle(scenario.loop)
    assert "no snapshot default/s2; snapshots: default/s1" in scenario.ready()[1]
    scenario.cluster.snapshots["default/s1"] = {"damaged": "manifest.json is damaged"}
    scenario.apply(asked(SECOND, **FROM))
    settle(scenario.loop)
    assert "manifest.json is damaged" in scenario.ready()[1]
    assert not scenario.cluster.processes
    assert not scenario.cluster.placements


def test_a_query_that_runs_does_not_begin_again() -> None:
    scenario = with_snapshot()
    scenario.apply(asked(FIRST))
    settle(scenario.loop)
    running = scenario.running()
    scenario.apply(asked(FIRST, **FROM))
    settle(scenario.loop)
    assert "began without restored state" in scenario.ready()[1]
    assert scenario.running() == running


def test_streams_may_have_other_names() -> None:
    scenario = with_snapshot()
    scenario.others.append(stream("t", "n2"))
    scenario.apply(asked(SECOND, sql="SELECT s.k FROM t AS s WHERE s.k > 1", **FROM))
    settle(scenario.loop)
    assert scenario.ready()[0] == "True"
    (source,) = (
        item
        for spec in scenario.cluster.placements["default/q"].spec["plan"]["told"]
        for item in spec["inputs"]
        if item["kind"] == "source"
    )
    assert source["stream"] == "default/t"
