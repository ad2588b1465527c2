"""No label, box or arrow of any picture lies on another, and all are legible on a screen of 1,200 pixels."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from weir_operator.pictures.changes import compared
from weir_operator.pictures.content import Content, read
from weir_operator.pictures.draw import drawn
from weir_operator.pictures.hierarchy import drawn as drawn_hierarchy
from weir_operator.pictures.layout import lay_out
from weir_operator.pictures.pen import Pen
from weir_placement.hierarchy.partition import partition
from weir_placement.model.cluster import Network

from tests.pictures.drawing import astray, illegible, overlaps, pieces, sheet, together, within, words
from tests.pictures.reports import plans, report

# As large as the pictures must be legible: 13 zones of two nodes each, 40 operators of ten queries.
LARGE = (
    report([[(7 * q + 5 * i) % 26 for i in range(4)] for q in range(10)], 26),
    {f"n{i}": f"zone-{i % 13}" for i in range(26)},
)
# Every arrow leaves one node or ends at one, so that many of them share a gutter.
STAR = (report([[0, i % 26, 0] for i in range(1, 14)], 26), {f"n{i}": f"zone-{i % 13}" for i in range(26)})
WIDE = (report([[0, 1, 2, 1]], 3, ["W" * 60, "漢" * 60, "m-" * 30], ["🚀" * 30]), {"W" * 60: "W" * 60})
MANY = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])


def assert_clear(content: Content) -> Pen:
    scene, pen = lay_out(content), drawn(content)
    boxes = words(pen)
    assert not overlaps(boxes)
    cards = [card.box for card in scene.cards]
    frames = [*cards, *(zone.box for zone in scene.zones)]
    assert not [word for word, box in boxes if astray(box, frames) or not within(box, sheet(pen))]
    assert not [1 for a, b in combinations(cards, 2) if a.overlaps(b)]
    assert not [1 for a, b in combinations([zone.box for zone in scene.zones], 2) if a.overlaps(b)]
    for arrow in scene.arrows:
        for piece in pieces(arrow.points):
            assert not [1 for card in cards if piece.overlaps(card, -0.5)]
            assert not [word for word, box in boxes if piece.overlaps(box)]
    assert not [1 for a, b in combinations(scene.arrows, 2) if together(a.points, b.points)]
    ends = [end for arrow in scene.arrows for end in (arrow.points[0], arrow.points[-1])]
    assert len(set(ends)) == len(ends)  # every end has a line of text of its own
    assert not illegible(pen)
    return pen


@example(LARGE)
@example(STAR)
@example(WIDE)
@given(plans())
@MANY
def test_a_plan(plan: tuple[dict[str, Any], dict[str, str]]) -> None:
    content = read(*plan)
    pen = assert_clear(content)
    assert len(lay_out(content).arrows) == len(content.flows)
    assert sheet(pen).width <= 900.5


@given(plans(12, 20), st.data())
@MANY
def test_what_has_changed(plan: tuple[dict[str, Any], dict[str, str]], data: st.DataObject) -> None:
    after, zones = plan
    names = [node["name"] for node in after["nodes"]]
    query_names = [query["name"].removeprefix("default/") for query in after["queries"]]
    placing = [
        [data.draw(st.integers(0, len(names) - 1)) for _ in query["operators"]] for query in after["queries"]
    ]
    before = report(placing, len(names), names, query_names)
    assert_clear(compared(before, after, zones))


@pytest.mark.parametrize(("nodes", "largest"), [(1, 2), (26, 2), (26, 5), (39, 9)])
def test_the_hierarchy(nodes: int, largest: int) -> None:
    points = np.random.default_rng(nodes).random((nodes, 2))
    network = Network.of_matrix(np.linalg.norm(points[:, None] - points[None], axis=2))
    names = [f"node-of-a-long-name-in-zone-{i % 13}-{i}" for i in range(nodes)]
    plan = report([[(7 * q + 5 * i) % nodes for i in range(4)] for q in range(10)], nodes, names)
    content = read(plan)
    pen = drawn_hierarchy(plan, content, partition(network, np.arange(nodes), largest), names)
    boxes = words(pen)
    assert not overlaps(boxes)
    assert not [word for word, box in boxes if not within(box, sheet(pen))]
    assert not illegible(pen)
    rates = [word for word, _ in boxes if word == "1.5 kB/s"]
    assert len(rates) == len([flow for flow in plan["flows"] if flow["from"] != flow["to"]])
