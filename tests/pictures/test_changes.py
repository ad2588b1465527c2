"""A picture of two plans says what has come and gone, and what has stayed without a mark."""

from typing import Any

from weir_operator.pictures.changes import compared
from weir_operator.pictures.content import Content
from weir_operator.pictures.draw import picture

from tests.pictures.reports import report


def changes(content: Content) -> dict[str, list[tuple[str, str, frozenset[str]]]]:
    return {
        node.name: [(f.change, f.note, f.moved) for f in node.fragments if f.change != "same"]
        for node in content.nodes
        if any(f.change != "same" for f in node.fragments)
    }


def flows(content: Content) -> dict[tuple[str, str], tuple[str, float | None, float]]:
    return {(f.source, f.target): (f.change, f.was, f.bytes_per_second) for f in content.flows}


def test_an_operator_that_moves_is_shown_at_both_places() -> None:
    content = compared(report([[0, 1, 1]], 3), report([[0, 2, 1]], 3))
    assert changes(content) == {
        "n1": [("gone", "moved to n2", frozenset({"o1"}))],
        "n2": [("new", "moved here from n1", frozenset({"o1"}))],
    }
    assert content.title == "What moved: 1 operator · flows: 2 new, 1 gone, 0 at another rate"
    assert flows(content) == {
        ("n0", "n2"): ("new", None, 1500.0),
        ("n2", "n1"): ("new", None, 1500.0),
        ("n0", "n1"): ("gone", 1500.0, 0.0),
    }


def test_equal_plans_have_no_changes() -> None:
    plan = report([[0, 1], [1, 2]], 3)
    content = compared(plan, plan)
    assert not changes(content)
    assert {change for change, *_ in flows(content).values()} == {"same"}
    assert content.title.startswith("What moved: 0 operators")


def test_a_rate_that_rises_and_the_load_of_nodes() -> None:
    before, after = report([[0, 1]], 2), report([[0, 1]], 2)
    after["flows"][0]["bytesPerSecond"] = 6000.0
    after["nodes"][1]["cpu"] = 3e6
    content = compared(before, after)
    assert flows(content) == {("n0", "n1"): ("rate", 1500.0, 6000.0)}
    svg = picture(after, "svg", before=before).decode()
    for words in ("6 kB/s (was 1.5 kB/s)", "cpu 25% → 75%", "before: 1 query", "after: 1 query"):
        assert words in svg, words


def test_queries_and_nodes_that_are_new_or_no_longer() -> None:
    before: dict[str, Any] = report([[0, 1]], 2, ["a", "gone"], ["first"])
    content = compared(
        before, report([[0, 1]], 2, ["a", "new"], ["second"]), {"a": "z", "new": "z", "gone": "y"}
    )
    assert changes(content) == {
        "a": [("new", "new", frozenset({"o0"})), ("gone", "no longer", frozenset({"o0"}))],
        "new": [("new", "new", frozenset({"o1"}))],
        "gone": [("gone", "no longer", frozenset({"o1"}))],
    }
    assert {node.name: node.zone for node in content.nodes} == {"a": "z", "new": "z", "gone": "y"}
    page = picture(report([[0, 1]], 2), "html", before=report([[1, 0]], 2)).decode()
    assert "<th>before</th>" in page
