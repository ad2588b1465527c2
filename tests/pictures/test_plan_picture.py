"""A picture of a plan shows everything that is in the report, and nothing covers a card."""

import xml.etree.ElementTree as ElementTree
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from weir_operator.pictures.content import read
from weir_operator.pictures.draw import picture
from weir_operator.pictures.layout import bezier, lay_out


def operator(query: str, name: str, inputs: list[str], node: str) -> dict[str, Any]:
    return {"id": f"{query}/{name}", "kind": "filter", "inputs": inputs, "node": node}


def report(placing: list[list[int]], nodes: int) -> dict[str, Any]:
    """One chain of operators for each entry of `placing`, on the nodes that it names."""
    queries, flows = [], []
    for q, chain in enumerate(placing):
        upstream, where, operators = "default/s", "n0", []
        for i, n in enumerate(chain):
            operators.append(operator(f"q{q}", f"o{i}", [upstream], f"n{n}"))
            if where != f"n{n}":
                flows.append({"stream": upstream, "from": where, "to": f"n{n}", "bytesPerSecond": 1500.0})
            upstream, where = f"q{q}/o{i}", f"n{n}"
        queries.append({"name": f"default/q{q}", "admitted": True, "operators": operators})
    loads = {"cpu": 1e6, "cpuCapacity": 4e6, "memoryBytes": 1e9, "memoryCapacity": 8e9}
    return {
        "objective": "headroom",
        "objectiveValue": 1.5,
        "bound": 1.5,
        "gap": 0.0,
        "proven": True,
        "binding": "cpu of node n0",
        "bindingAt": {"resource": "cpu", "nodes": ["n0"]},
        "queries": queries,
        "flows": flows,
        "nodes": [{"name": f"n{i}", **loads} for i in range(nodes)],
        "networkUsageBytes": 12.0,
    }


PLANS = st.integers(2, 9).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(st.integers(0, n - 1), min_size=1, max_size=6), max_size=4), st.just(n)
    )
)


@example(([[1, 3], [1, 2, 3, 1, 2], [2]], 7))  # three flows above one column's first card
@given(PLANS)
def test_no_card_is_covered(plan: tuple[list[list[int]], int]) -> None:
    placing, nodes = plan
    scene = lay_out(read(report(placing, nodes), {f"n{i}": f"z{i % 3}" for i in range(nodes)}))
    for i, card in enumerate(scene.cards):
        assert not any(card.box.overlaps(other.box) for other in scene.cards[:i])
        assert card.box.x >= 0
        assert card.box.x + card.box.width <= scene.width
        assert card.box.y + card.box.height <= scene.height
    for arrow in scene.arrows:  # a flow passes between the cards, never under one
        for step in range(1, 40):
            x, y = bezier(arrow.points, step / 40)
            inside = [
                c.node.name
                for c in scene.cards
                if c.box.x + 1 < x < c.box.x + c.box.width - 1
                and c.box.y + 1 < y < c.box.y + c.box.height - 1
            ]
            assert not inside


def renamed(value: object, names: dict[str, str]) -> object:
    """A report whose nodes have other names."""
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def test_what_binds_does_not_hang_on_words_in_names() -> None:
    """Nodes may be called `node`, `of` or `link`, which the sentence has in it too."""
    names = {"n0": "link", "n1": "node", "n2": "of"}
    content = read(renamed(report([[0, 1, 2]], 3), names))
    assert [node.name for node in content.nodes if node.binds] == ["link"]
    at_a_link = report([[0, 1, 2]], 3) | {
        "binding": "bandwidth of link n1 -> n2",
        "bindingAt": {"resource": "bandwidth", "nodes": ["n1", "n2"]},
    }
    content = read(renamed(at_a_link, names))
    assert not any(node.binds for node in content.nodes)
    assert [(flow.source, flow.target) for flow in content.flows if flow.binds] == [("node", "of")]


def test_the_svg_names_every_node_query_and_stream() -> None:
    svg = picture(report([[0, 1, 2], [1]], 4), "svg", {f"n{i}": f"zone-{i % 2}" for i in range(4)}).decode()
    ElementTree.fromstring(svg)
    for word in (
        "n0",
        "n1",
        "n2",
        "n3",
        "q0",
        "q1",
        "filter o1",
        "enters: s",
        "delivers: q0",
        "1.5 kB/s",
        "idle (1)",
    ):
        assert word in svg, word
    assert "this is what binds" in svg  # the hover text of n0


def test_the_page_needs_nothing_else() -> None:
    page = picture(report([[0, 1]], 2), "html").decode()
    assert page.startswith("<!doctype html>")
    assert "<script src" not in page
    assert "<link" not in page
    assert "<td>n0</td><td>n1</td>" in page


def test_the_png_is_a_png() -> None:
    assert picture(report([[0]], 1), "png").startswith(b"\x89PNG")


def test_rows_are_delivered_where_the_last_flow_goes() -> None:
    plan = report([[0, 1]], 3)
    plan["flows"].append({"stream": "q0/o1", "from": "n1", "to": "n2", "bytesPerSecond": 10.0})
    content = read(plan)
    assert {node.name: node.deliveries for node in content.nodes} == {"n0": [], "n1": [], "n2": ["q0"]}
    assert len(lay_out(content).arrows) == 2


def test_a_rejected_query_is_counted() -> None:
    plan = report([[0]], 1)
    plan["queries"].append({"name": "default/no", "admitted": False, "operators": [], "reason": "cpu"})
    assert read(plan).title.startswith("1 query, 1 rejected")


def test_labels_of_many_flows_between_two_zones_do_not_cover_each_other() -> None:
    """Eight sources in one zone, one reader in another: the gap between them holds every label."""
    plan = report([[i, 8] for i in range(8)], 9)
    plan["flows"] = [flow for flow in plan["flows"] if flow["to"] == "n8"]
    zones = {f"n{i}": "sources" for i in range(8)} | {"n8": "sink"}
    labels = [arrow.label for arrow in lay_out(read(plan, zones)).arrows]
    assert len(labels) == 8
    assert not [1 for i, box in enumerate(labels) for other in labels[:i] if box.overlaps(other)]


def test_the_title_names_the_plans_that_the_proof_is_over() -> None:
    plan = report([[0]], 1)
    assert read(plan).title.endswith("proved optimal")
    within = plan | {"proven": False, "provenWithin": "swaps of selections"}
    assert read(within).title.endswith("proved optimal over swaps of selections")
