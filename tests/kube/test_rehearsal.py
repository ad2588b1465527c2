"""What a replica does before it may lead is a whole round: read, checked, planned, cut into fragments."""

from __future__ import annotations

from weir_operator.controller.decision import Start
from weir_operator.controller.settings import Settings
from weir_operator.kube.rehearsal import rehearse
from weir_placement.fragments import Layout


def test_a_made_up_query_is_planned_and_its_fragment_would_start() -> None:
    decided = rehearse(Settings(Layout("/data")))
    assert [placement.query for placement in decided.placements] == ["a/x"]
    (start,) = [action for action in decided.actions if isinstance(action, Start)]
    assert start.spec.node == "x"
