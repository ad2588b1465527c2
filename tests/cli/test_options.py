"""A strategy's options: what `weir strategies` lists is what `--set` and a policy's parameters accept."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_placement.strategies import STRATEGIES

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
LIMIT = ("--time-limit", "0.2")


def plan(capsys, *arguments, objective="headroom"):
    code = main(["plan", "-f", str(FLIGHTS), "-o", "json", "--objective", objective, *LIMIT, *arguments])
    return code, capsys.readouterr().err


def listed(capsys, name):
    assert main(["strategies", name, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)[0]["options"]


@pytest.mark.parametrize("option", ["forms=0", "plans=10", "small=4", "clones=1", "split-cost=2", "items=5"])
@pytest.mark.parametrize("strategy", ["auto", "exact"])
def test_every_option_that_a_search_reads_may_be_set(capsys, strategy, option):
    name = option.partition("=")[0]
    assert name in listed(capsys, strategy)
    assert plan(capsys, "--strategy", strategy, "--set", option)[0] == 0


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_listed_option_is_accepted_with_its_default(capsys, strategy):
    for objective in (each.name for each in STRATEGIES[strategy].objectives):
        settings = {
            name: str(option["default"])
            for name, option in listed(capsys, strategy).items()
            if option["default"] is not None and option["objective"] in ("", objective)
        }
        assert STRATEGIES[strategy].option_errors(settings, objective) == []


def test_to_list_strategies_loads_no_compiler_solver_or_parser():
    heavy = {"numba", "llvmlite", "ortools", "scipy", "sqlglot", "matplotlib"}
    program = "import sys, weir_placement.strategies; print(*{m.partition('.')[0] for m in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not heavy & set(loaded.stdout.split())


@pytest.mark.parametrize(
    ("strategy", "setting", "right"),
    [
        ("annealing", "alpha=7", "a number from 0 to 1"),
        ("annealing", "iterations=-3", "a whole number of at least 0"),
        ("tabu", "iterations=2.5", "a whole number"),
        ("two-phase", "algorithm=9", "a whole number from 0 to 4"),
        ("greedy", "ties=maybe", "on or off"),
        ("greedy", "tis=off", "did you mean ties?"),
    ],
)
def test_a_value_that_is_out_of_bounds_is_refused_with_what_would_be_right(capsys, strategy, setting, right):
    code, err = plan(capsys, "--strategy", strategy, "--set", setting)
    assert code == 2
    assert f"--set {setting}" in err
    assert right in err


def test_a_cluster_size_that_is_no_number(capsys):
    setting = ("--strategy", "top-down", "--set", "maxClusterSize=big")
    code, err = plan(capsys, *setting, objective="network-usage")
    assert code == 2
    assert "a whole number of at least 2" in err


def test_an_option_of_the_other_objective_is_refused(capsys):
    setting = ("--strategy", "exhaustive", "--set", "steps=1000")
    code, err = plan(capsys, *setting, objective="network-usage")
    assert code == 2
    assert "steps is for headroom" in err


def test_what_auto_stands_for_is_named(capsys):
    code, err = plan(capsys, "--strategy", "auto", "--set", "steps=1000", objective="network-usage")
    assert code == 2
    assert "exact-dp" in err


def test_a_policy_with_a_wrong_parameter_is_found_with_its_line(capsys, tmp_path):
    (tmp_path / "policy.yaml").write_text(
        "apiVersion: weir.dev/v1alpha1\n"
        "kind: PlacementPolicy\n"
        "metadata: {name: careful}\n"
        "spec:\n"
        "  strategy:\n"
        "    name: annealing\n"
        "    parameters:\n"
        '      alpha: "7"\n'
        '      alfa: "0.5"\n'
    )
    assert main(["plan", "-f", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "policy.yaml:8: PlacementPolicy careful: spec.strategy.parameters.alpha: " in err
    assert "a number from 0 to 1" in err
    assert "policy.yaml:9: PlacementPolicy careful: spec.strategy.parameters.alfa: " in err
    assert "did you mean alpha?" in err


def test_a_heap_that_spark_cannot_start_with_is_refused(capsys):
    """It was accepted, and every process ended at once, for ever."""
    assert main(["run", "-f", str(FLIGHTS), "--heap", "256"]) == 2
    assert "480" in capsys.readouterr().err
