"""A picture of a plan shows everything that is in the report."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_operator.pictures.content import read
from weir_operator.pictures.draw import picture
from weir_operator.pictures.layout import lay_out
from weir_operator.pictures.pen import SVG

from tests.pictures.reports import report

ROOT = Path(__file__).parents[2]


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


def test_a_node_that_only_passes_rows_on_has_a_card() -> None:
    plan = report([[2]], 3)
    plan["flows"] = [
        {"stream": "default/s", "from": a, "to": b, "bytesPerSecond": 1.0, "relay": a == "n1"}
        for a, b in (("n0", "n1"), ("n1", "n2"))
    ]
    scene = lay_out(read(plan))
    assert [card.node.name for card in scene.cards] == ["n0", "n1", "n2"]
    assert len(scene.arrows) == 2


def test_idle_zones_are_a_line_below_all_others() -> None:
    """Twelve zones in which nothing runs take no more than two lines of text."""
    zones = {f"n{i}": f"zone-{i}" for i in range(13)}
    alone, among = (read(report([[0]], count), zones) for count in (1, 13))
    assert lay_out(among).height == lay_out(alone).height
    svg = picture(report([[0]], 13), "svg", zones).decode()
    assert "idle (12): zone zone-1: n1" in svg
    assert "zone zone-12: n12" in svg


def test_the_title_names_the_plans_that_the_proof_is_over() -> None:
    plan = report([[0]], 1)
    assert read(plan).title.endswith("proved optimal")
    within = plan | {"proven": False, "provenWithin": "swaps of selections"}
    assert read(within).title.endswith("proved optimal over swaps of selections")


def test_the_readmes_picture_is_what_weir_draws(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """`weir plan -f examples/flights -o svg > docs/images/flights-plan.svg` after a change."""
    assert main(["plan", "-f", str(ROOT / "examples/flights"), "-o", "svg"]) == 0
    drawn, kept = (
        [(text.text, text.get("x"), text.get("y")) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
        for svg in (
            capsysbinary.readouterr().out,
            (ROOT / "docs/images/flights-plan.svg").read_bytes(),
        )
    )
    assert drawn == kept
