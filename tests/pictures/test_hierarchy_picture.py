"""A picture of the hierarchy: clusters are intervals, nothing covers anything, everything is named."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_operator.pictures.hierarchy import hierarchy_picture, lay_out_tree
from weir_placement.hierarchy.partition import partition
from weir_placement.model.cluster import Network

from tests.pictures.reports import report


def random_network(nodes: int, seed: int) -> Network:
    points = np.random.default_rng(seed).random((nodes, 2))
    return Network.of_matrix(np.linalg.norm(points[:, None] - points[None], axis=2))


@given(st.integers(1, 40), st.integers(2, 9), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_clusters_hold_their_members_and_no_other(nodes: int, largest: int, seed: int) -> None:
    hierarchy = partition(random_network(nodes, seed), np.arange(nodes), largest)
    tree = lay_out_tree(hierarchy, 60.0)
    assert sorted(tree.leaf) == list(range(nodes))
    assert len({*tree.leaf.values()}) == nodes
    assert len(tree.frames) == sum(len(level) for level in hierarchy.levels)
    for i, frame in enumerate(tree.frames):
        assert not any(frame.box.overlaps(other.box) for other in tree.frames[:i])
        assert frame.coordinator in frame.members
        for x, y in frame.members.values():
            assert frame.box.x < x < frame.box.x + frame.box.width
            assert frame.box.y < y < frame.box.y + frame.box.height
        assert frame.box.x >= 0
        assert frame.box.x + frame.box.width <= tree.width


@pytest.mark.parametrize("kind", ["svg", "html"])
def test_every_node_query_and_rate_is_named(kind: str) -> None:
    names = [f"n{i}" for i in range(9)]
    hierarchy = partition(random_network(9, 1), np.arange(9), 3)
    text = hierarchy_picture(report([[0, 4, 8], [2, 5]], 9), hierarchy, names, kind).decode()  # type: ignore[arg-type]
    if kind == "svg":
        ElementTree.fromstring(text)
    for word in (*names, "q0", "q1", "1.5 kB/s", "level 2", "a stream enters", "coordinator"):
        assert word in text, word
    assert "q0/o0: n0 to n4" in text


def test_one_node_alone() -> None:
    hierarchy = partition(random_network(1, 1), np.arange(1), 2)
    assert hierarchy_picture(report([[0]], 1), hierarchy, ["n0"], "png").startswith(b"\x89PNG")
