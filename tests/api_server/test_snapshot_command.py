"""`weir snapshot` in a cluster: it makes a QuerySnapshot and waits, while the operator and its pods work."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from weir_operator.cli import main

from tests.api_server.scene import SQL
from tests.api_server.snapshot_scenario import SnapshotScenario

Weir = Callable[..., int]


@pytest.fixture
def weir(scenario: SnapshotScenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weir:
    """`weir snapshot` there; each time that it waits, operator and pods do their next step."""

    def step(_: float) -> None:
        scenario.scene.loop.once()
        scenario.pods.step()

    monkeypatch.setattr("weir_operator.kube.api.connect", lambda context: scenario.scene.target.admin)
    monkeypatch.setattr("weir_operator.cli.cluster_snapshot.sleep", step)

    def run(query: str, *arguments: str) -> int:
        return main(["snapshot", query, *arguments, "--run-folder", str(tmp_path / "none")])

    return run


@pytest.fixture
def query(scenario: SnapshotScenario) -> str:
    return f"{scenario.scene.target.namespace}/q"


def test_it_waits_until_it_is_whole(
    scenario: SnapshotScenario, weir: Weir, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weir(query, "--name", "s1") == 0
    output = capsys.readouterr()
    assert output.out.startswith(f"{query}: snapshot {scenario.scene.target.namespace}/s1: ")
    assert "files, " in output.out
    assert "copies query" in output.err
    assert scenario.complete()
    assert weir(query, "--name", "s1") == 2
    assert "there is a QuerySnapshot" in capsys.readouterr().err


def test_it_lies_where_those_of_the_schedule_do(scenario: SnapshotScenario, weir: Weir, query: str) -> None:
    place = {"claim": "backups"}
    scenario.scene.ask(SQL, snapshots={"schedule": "0 0 29 2 *", "place": place})
    assert weir(query, "--name", "s1", "--timeout", "1") in (0, 1)
    assert scenario.scene.of("QuerySnapshot", "s1")["spec"] == {"query": "q", "place": place}


def test_the_older_ones_go_but_for_those_of_a_schedule(
    scenario: SnapshotScenario, weir: Weir, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario.scene.target.admin.apply(
        {
            "apiVersion": "weir.dev/v1alpha1",
            "kind": "QuerySnapshot",
            "metadata": {
                "namespace": scenario.scene.target.namespace,
                "name": "daily",
                "annotations": {"weir.dev/due": "2026-01-01T00:00:00Z"},
            },
            "spec": {"query": "q"},
        },
        "user",
    )
    scenario.until(lambda: scenario.complete("daily"))
    for name in ("s1", "s2", "s3"):
        assert weir(query, "--name", name, "--keep", "1") == 0
    assert f"removes snapshot {scenario.scene.target.namespace}/s2" in capsys.readouterr().out
    scenario.until(
        lambda: not scenario.scene.of("QuerySnapshot", "s1") and not scenario.scene.of("QuerySnapshot", "s2")
    )
    assert scenario.complete("s3")
    assert scenario.complete("daily")


def test_what_cannot_be_done_is_said(
    scenario: SnapshotScenario, weir: Weir, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weir(f"{query}2") == 2
    assert "no such query" in capsys.readouterr().err
    assert weir(query, "--name", "s1") == 0
    scenario.scene.target.admin.delete(
        "QuerySnapshot", scenario.scene.target.namespace, "s1"
    )  # its files stay
    scenario.until(lambda: not scenario.snapshot_pods())
    assert weir(query, "--name", "s1") == 2
    assert "s1: there is one already" in capsys.readouterr().err


def test_without_an_operator_it_says_so_and_how_to_wait(
    scenario: SnapshotScenario,
    weir: Weir,
    query: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weir_operator.cli.cluster_snapshot.sleep", lambda _: None)
    monkeypatch.setattr("weir_operator.cli.cluster_snapshot.monotonic", itertools.count().__next__)
    assert weir(query, "--name", "s1", "--timeout", "2") == 1
    output = capsys.readouterr().err
    assert "no operator has taken it up" in output
    assert "--for=condition=Ready querysnapshot/s1" in output
