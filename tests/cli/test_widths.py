"""What is printed as a table: at any width every name is whole, and nothing is cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from weir_operator.cli import main
from weir_operator.cli.columns import TableColumn, table
from weir_placement.strategies import STRATEGIES

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
SITES = Path(__file__).with_name("sites.yaml")
WIDTHS = ("80", "120", "200", "")

Printed = Callable[..., str]


@pytest.fixture(params=WIDTHS, ids=lambda width: width or "piped")
def printed(request, monkeypatch, capsys) -> Printed:
    """What a command prints at a width; piped: without one. Lines are no longer, but for a name that is."""
    monkeypatch.setenv("COLUMNS", request.param)

    def run(*arguments: object) -> str:
        assert main([str(argument) for argument in arguments]) == 0
        out = capsys.readouterr().out
        assert "…" not in out
        assert "\x1b" not in out
        if request.param:
            assert not [x for x in out.splitlines() if len(x) > int(request.param) and " headroom " not in x]
        return out

    return run


@pytest.mark.parametrize("manifests", [FLIGHTS, SITES], ids=["flights", "long-names"])
def test_a_plan_has_every_operator_with_its_node(printed, capsys, manifests):
    assert main(["plan", "-f", str(manifests), "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    out = printed("plan", "-f", manifests)
    parts = out.split("nodes\n")[0].split("headroom ")[1:]
    assert len(parts) == len(report["queries"])
    for query, part in zip(report["queries"], parts, strict=True):
        assert f"{query['name']}: headroom " in out
        place = 0
        for operator in query["operators"]:
            for word in (operator["id"].split("/", 1)[1], operator["kind"], operator["node"]):
                place = part.index(word, place)
    for node in report["nodes"]:
        assert node["name"] in out.split("nodes\n")[1]


def test_cpu_and_memory_make_room_for_names(monkeypatch, capsys):
    headers = {}
    for width in ("80", "120"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["plan", "-f", str(FLIGHTS)]) == 0
        headers[width] = next(x for x in capsys.readouterr().out.splitlines() if x.startswith("OPERATOR"))
    assert re.split(r"  +", headers["80"])[:4] == ["OPERATOR", "KIND", "READS", "NODE"]
    assert "CPU" not in headers["80"]
    assert headers["120"].split()[-2:] == ["CPU", "MEMORY"]


def test_a_plan_explains_its_figures(printed):
    out = " ".join(printed("plan", "-f", FLIGHTS).split())
    for term in ("headroom: how many times", "latency: of the longest path", "ROWS/S IN: of each input"):
        assert term in out


def test_strategies_are_whole(printed):
    out = printed("strategies")
    assert {line.split(" ")[0] for line in out.splitlines() if line} >= set(STRATEGIES)
    options = printed("strategies", "annealing").split("--set ")
    words = " ".join(next(text for text in options if text.startswith("ties=on")).split()[1:])
    assert words.startswith("at the end, small moves choose among plans of equal headroom the one")
    assert words.endswith("on or off")


@pytest.mark.parametrize(("width", "side_by_side"), [(21, True), (20, False)])
def test_wide_letters_count_twice(width, side_by_side, capsys):
    Console(width=width).print(
        table((TableColumn("NAME"), TableColumn("NODE")), [("温度センサー", "größe-1")], width)
    )
    out = capsys.readouterr().out
    assert "温度センサー" in out
    assert "größe-1" in out
    assert ("NAME          NODE" in out) == side_by_side


def test_a_name_is_no_markup(capsys):
    Console(width=80).print(table((TableColumn("NAME"),), [("[red]",)], 80))
    assert "[red]" in capsys.readouterr().out
