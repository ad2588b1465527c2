"""The state that a plan reckons with, against what Spark measures of it, over streams that flow evenly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from weir_placement.cost.flows import flows_of, scaled
from weir_placement.cost.rules import RULES
from weir_runtime.metrics import Metrics

from tests.nexmark import events
from tests.nexmark.house import House, desired, fragments
from tests.nexmark.test_queries import EVENTS
from tests.runtime.sessions import Run

COUNT = 40_000
PIECES = 16

JOIN = """SELECT {columns} FROM bid b JOIN auction a ON b.auction = a.id
    AND b.dateTime BETWEEN a.dateTime - INTERVAL 10 SECONDS AND a.dateTime + INTERVAL 10 SECONDS"""
GROUP = """SELECT {keys}, count(*) AS n, max(price) AS high FROM bid
    GROUP BY {keys}, window(dateTime, '10 seconds', '2 seconds')"""
QUERIES: dict[str, dict[str, Any]] = {
    "join": {"sql": JOIN.format(columns="b.*, a.itemName, a.description, a.reserve, a.seller, a.category")},
    "graph": {
        "operators": [
            {"id": "b", "kind": "project", "inputs": ["bid"], "columns": ["bid.auction", "bid.dateTime"]},
            {
                "id": "a",
                "kind": "project",
                "inputs": ["auction"],
                "columns": ["auction.id", "auction.dateTime"],
            },
            {
                "id": "j",
                "kind": "join",
                "inputs": ["b", "a"],
                "on": "bid.auction = auction.id",
                "window": "10s",
            },
        ]
    },
    "few-groups": {"sql": GROUP.format(keys="auction")},
    "wide-groups": {"sql": GROUP.format(keys="bidder, channel, url")},
}


def planned(folder: Path, query: dict[str, Any]) -> float:
    """[bytes] of all operators at the rates of the events."""
    (group,) = desired(folder, folder / "out", query).groups
    (model,) = group.problem.queries
    streams = group.problem.streams
    flows = flows_of(model, streams, scaled({name: stream.rate for name, stream in streams.items()}))
    return sum(RULES[op.kind].memory(op, [flows[name] for name in op.inputs])(1.0) for op in model.operators)


QUICK = ("graph", "few-groups")


@pytest.mark.parametrize("name", QUERIES if EVENTS else QUICK)
def test_state_is_planned_within_a_factor_of_two(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    measured: list[int] = []
    count_state = Metrics._count_state

    def watched(self: Metrics, reports: Any) -> None:
        measured.append(sum(report["memoryUsedBytes"] for report in reports))
        count_state(self, reports)

    monkeypatch.setattr(Metrics, "_count_state", watched)
    house = House(events.events(COUNT), tmp_path / "logs", PIECES)
    house.write()
    (spec,) = fragments(tmp_path, house.logs, QUERIES[name])
    run(replace(spec, max_batches=1))
    ratio = planned(tmp_path, QUERIES[name]) / max(measured)
    print(f"{name}: planned {ratio:.2f} times the {max(measured) / 1e6:.1f} MB that were measured")
    assert 0.5 < ratio < 2.0
