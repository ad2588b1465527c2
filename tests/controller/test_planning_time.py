"""One policy's planning keeps the others waiting for a bounded time, and the operator says that it lives."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.planning.strategy import StrategyCall

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import loop, one_query


def test_a_long_time_limit_is_cut_in_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []
    run = StrategyCall.run

    def noted(self: StrategyCall, problem: Any) -> Any:
        limits.append(self.time_limit)
        return run(self, problem)

    monkeypatch.setattr(StrategyCall, "run", noted)
    scenario, signs = one_query(), [0]
    scenario.policy = PlacementPolicySpec.model_validate({"strategy": {"name": "greedy", "timeLimit": "10m"}})

    def alive() -> None:
        signs[0] += 1

    loop(scenario, FakeCluster(), alive=alive).once()
    assert limits == [60.0]
    assert signs == [1]
