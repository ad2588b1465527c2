"""The demo's pictures show the plan before the load, the one that the load led to, and what moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from weir_operator.manifests.load import load
from weir_operator.planning.policies import Overrides, plan_policies
from weir_placement.model.plan import QueryPlan

from examples.flights import demo
from examples.flights.demo import MANIFESTS, Demo


def moved(plan: QueryPlan) -> QueryPlan:
    """With what `made-up-time` has in New York in Atlanta."""
    if not plan.query.name.endswith("made-up-time"):
        return plan
    nodes = {op: "atlanta-1" if node == "newyork-1" else node for op, node in plan.nodes.items()}
    return replace(plan, nodes=nodes)


def test_the_pictures_before_and_under_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "OUT", tmp_path)
    planned = plan_policies(load(list(MANIFESTS), "default").built.groups, Overrides())[0]
    policy = SimpleNamespace(strategy=SimpleNamespace(name="exact-dp"), objective="network-usage")
    plans = [p.query.name for p in planned.result.plan.queries]
    group = SimpleNamespace(problem=planned.problem, queries=plans, policy=policy)
    state = SimpleNamespace(groups=[group])
    run = Demo.__new__(Demo)
    run.why = "default/made-up-time: revision 2: move join-d-with-w to atlanta-1"
    run.machine = SimpleNamespace(loop=SimpleNamespace(last=SimpleNamespace(explain={})))  # type: ignore[assignment]
    records = {p.query.name: p for p in planned.result.plan.queries}
    monkeypatch.setattr(run, "_desired_state", lambda: state)
    monkeypatch.setattr(
        run, "_records", lambda: [SimpleNamespace(query=name, plan=plan) for name, plan in records.items()]
    )

    before = run._draw("before")
    records |= {name: moved(plan) for name, plan in records.items()}
    rates = {"default/departures": 600.0, "default/arrivals": 600.0, "default/weather": 24.0}
    run.machine.loop.last.explain = {"default/made-up-time": {"rates": rates}}
    after = run._draw("after")
    run._draw("moves", before, after)

    quiet, loaded, moves = (
        (tmp_path / f"plan-{name}.svg").read_text() for name in ("before", "after", "moves")
    )
    assert quiet != loaded
    assert "2.33 kB/s" in quiet
    for words in (
        "moved to atlanta-1",
        "moved here from newyork-1",
        run.why,
        "(was 0.383 B/s)",
        "gone: 2.33 kB/s",
    ):
        assert words in moves, words
    assert {path.name for path in tmp_path.glob("*.png")} == {
        f"plan-{name}.png" for name in ("before", "after", "moves")
    }
