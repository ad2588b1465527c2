"""The instant of a hand-over, over folders (tests/kafka and tests/store have the other exchanges)."""

from __future__ import annotations

import json
from pathlib import Path

from weir_placement.model.fragment import Output
from weir_placement.model.location import Location

from tests.runtime.flows import assert_right_through_kills_and_moves


def test_whoever_dies_at_a_hand_over_loses_and_doubles_nothing(tmp_path: Path) -> None:
    exchange = tmp_path / "exchange"
    assert_right_through_kills_and_moves(
        tmp_path,
        Output("exchange", flow=Location("folder", str(exchange))),
        ["after-temporary:2"],
        lambda: int(json.loads((exchange / "producer.json").read_text())["port"]),
    )
