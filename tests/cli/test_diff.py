"""`weir diff --base` for pull requests, and `weir explain --defaults`."""

import json
import shutil
from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_operator.planning.difference import compare, lines, moves

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"


@pytest.fixture
def flights(tmp_path):
    folder = tmp_path / "flights"
    shutil.copytree(FLIGHTS, folder)
    return folder


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def report(**places):
    """A PlanReport of queries `name={operator: node}`; None is a rejected one."""
    queries = [
        {
            "name": f"default/{name}",
            "admitted": nodes is not None,
            "reason": "cpu of node n1" if nodes is None else None,
            "headroom": 2.0,
            "latencySeconds": 0.1,
            "operators": [
                {"id": f"{name}/{op}", "kind": "filter", "inputs": ["default/a"], "node": node}
                for op, node in (nodes or {}).items()
            ],
        }
        for name, nodes in places.items()
    ]
    return {"queries": queries, "networkUsageBytes": 1.0, "binding": "cpu of node n1"}


def test_the_same_plan_does_not_differ():
    assert not compare(report(q={"f": "n1"}), report(q={"f": "n1"}))


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ({}, {"q": {"f": "n1"}}, "added default/q: f on n1"),
        ({"q": {"f": "n1"}}, {}, "removed default/q"),
        ({"q": {"f": "n1", "g": "n1"}}, {"q": {"f": "n1", "g": "n2"}}, "moved default/q: g n1 -> n2"),
        ({"q": {"f": "n1"}}, {"q": {"f": "n1", "g": "n2"}}, "rewritten default/q: g on n2"),
        ({"q": {"f": "n1"}}, {"q": None}, "rejected default/q: cpu of node n1"),
        ({"q": None}, {"q": {"f": "n1"}}, "admitted default/q"),
    ],
)
def test_what_changed_in_one_line(before, after, line):
    assert lines(compare(report(**before), report(**after))) == [line]


def test_only_operators_that_go_on_running_count_as_moves():
    before = report(q={"f": "n1", "g": "n1"}, r={"f": "n1"})
    after = report(q={"f": "n2", "g": "n1"}, s={"f": "n2"})
    assert moves(compare(before, after).queries) == 1


def test_two_folders(capsys, flights):
    arguments = ["diff", "--base", str(FLIGHTS), "-f", str(flights)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "no change\n"
    edit(flights / "queries.yaml", "WHERE d.dep_delay >= 15", "WHERE d.dep_delay >= 60")
    assert main(arguments) == 1
    assert capsys.readouterr().out.startswith("edited default/delayed-weather")
    assert main([*arguments, "-o", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "**Weir:** 1 query changes" in out
    assert "| default/delayed-weather | edited |" in out
    assert main([*arguments, "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["queries"][0]["change"] == "edited"


def test_bad_input_on_either_side_is_exit_2(capsys, flights):
    edit(flights / "queries.yaml", "kind: StreamQuery", "kind: StreamQry")
    assert main(["diff", "--base", str(flights), "-f", str(FLIGHTS)]) == 2
    assert main(["diff", "--base", str(FLIGHTS), "-f", str(flights)]) == 2
    assert "did you mean StreamQuery?" in capsys.readouterr().err


def test_defaults_are_shown_and_read_back_as_the_same(capsys, tmp_path, flights):
    assert main(["explain", "--defaults", "-f", str(flights)]) == 0
    out = capsys.readouterr().out
    for file in ("policy.yaml", "queries.yaml", "streams.yaml"):
        (flights / file).unlink()
    text = (flights / "cluster.yaml").read_text()
    (flights / "cluster.yaml").write_text(text[: text.index("apiVersion: weir.dev")].rstrip().rstrip("-"))
    (flights / "all.yaml").write_text(out)
    assert main(["explain", "--defaults", "-f", str(flights)]) == 0
    assert capsys.readouterr().out == out
    assert "drainTimeout: 10m" in out


def test_the_built_in_objects(capsys):
    assert main(["explain", "--defaults"]) == 0
    out = capsys.readouterr().out
    assert "kind: PlacementPolicy" in out
    assert "kind: NetworkTopology" in out
