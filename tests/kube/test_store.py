"""Commands that a person gives about a cluster's queries: they write the Placement, and the operator's own
writes leave what they wrote."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_operator.controller.decision import WritePlacement
from weir_operator.controller.times import seconds
from weir_operator.kube.api import ApiError
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.settings import OperatorSettings

from tests.kube.memory import Manifest, Memory

STATUS: Manifest = {
    "nodes": "n1",
    "ready": "1/1",
    "history": [{"revision": 2, "reason": "moved"}, {"revision": 1, "reason": "first plan"}],
    "proposed": {"revision": 3, "hash": "beef", "reason": "waits for approval", "diff": "~ f: n1 -> n2"},
    "decisions": [
        "2026-01-01T00:01:00Z stay: it is full (12 times since 2026-01-01T00:00:05Z)",
        "2026-01-01T00:00:00Z moved",
        "2026-01-01T00:00:00Z first plan",
    ],
}
SPEC: Manifest = {
    "revision": 2,
    "operators": [{"id": "f", "kind": "filter", "inputs": ["s"], "node": "n1"}],
    "fragments": [],
}


class OnePlaced:
    """One query that the operator has placed, and the command line that speaks to its cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ready = {"type": "Ready", "status": "True", "reason": "Running", "message": "1 fragments run"}
        self.memory = Memory(
            {
                "kind": "StreamQuery",
                "metadata": {"namespace": "a", "name": "q"},
                "spec": {},
                "status": {"conditions": [ready], "headroom": 1.25, "binding": "cpu of node n1"},
            }
        )
        self.operator = KubernetesCluster(self.memory.api, OperatorSettings())
        self.goes_round()

    def goes_round(self) -> None:
        """The operator observes, and writes what it has to say."""
        self.operator.observe()
        self.operator.write_placement(WritePlacement("a/q", SPEC, STATUS))

    def weir(self, command: str, *arguments: str) -> int:
        return main([command, *arguments, "--run-folder", str(self.folder / "none")])

    def spec(self) -> Manifest:
        spec_now: Manifest = self.memory.objects["Placement", "a", "q"]["spec"]
        return spec_now


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnePlaced:
    simulated = OnePlaced(tmp_path)
    monkeypatch.setattr("weir_operator.kube.api.connect", lambda context: simulated.memory.api)
    monkeypatch.setenv("COLUMNS", "200")
    return simulated


def test_a_rollback_is_asked_for_until_it_is_taken_back(cluster: OnePlaced) -> None:
    assert cluster.weir("rollback", "a/q", "1") == 0
    cluster.goes_round()
    assert cluster.spec() == {**SPEC, "pinned": 1}
    assert cluster.weir("unpin", "a/q") == 0
    cluster.goes_round()
    assert cluster.spec() == SPEC


def test_only_what_is_proposed_is_approved(cluster: OnePlaced, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.weir("approve", "a/q", "3") == 2
    assert "plan 3 is not proposed; the proposed plan is beef" in capsys.readouterr().err
    now = time.time()
    assert cluster.weir("approve", "a/q", "beef", "--minutes", "5") == 0
    approval = cluster.spec()["approval"]
    assert approval["plan"] == "beef"
    assert now + 299 <= seconds(approval["until"]) <= time.time() + 300


def test_only_what_the_history_has_comes_back(cluster: OnePlaced, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.weir("rollback", "a/q", "7") == 2
    assert "revisions: 2, 1" in capsys.readouterr().err
    assert cluster.weir("rollback", "b/q", "1") == 2
    assert "b/q: no such query" in capsys.readouterr().err
    assert cluster.spec() == SPEC


def test_status_and_explain_read_the_cluster(cluster: OnePlaced, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.weir("status") == 0
    (row, note) = [line for line in capsys.readouterr().out.splitlines() if "a/q" in line]
    assert row.split() == ["a/q", "True", "Running", "1/1", "1.25x", "2", "n1"]
    assert note == "a/q: plan beef is proposed: waits for approval"
    assert cluster.weir("explain", "a/q") == 0
    output = capsys.readouterr().out
    lines = (
        "a/q: revision 2, headroom 1.25x, binding: cpu of node n1",
        "Ready True, Running: 1 fragments run",
        "proposed: plan beef",
        "~ f: n1 -> n2",
        "  2026-01-01 00:00:05 to 00:01:00, 12 times: stay: it is full",
    )
    for line in lines:
        assert line in output
    assert output.index("moved") < output.index("first plan")


@pytest.mark.parametrize("command", [("status",), ("explain", "a/q"), ("unpin", "a/q"), ("snapshot", "a/q")])
def test_a_cluster_that_refuses_or_does_not_answer_is_no_bug_of_ours(
    cluster: OnePlaced, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: str) -> None:
        raise ApiError(403, 'streamqueries.weir.dev is forbidden: User "ada" cannot list them')

    cluster.memory.refuse = refused
    assert cluster.weir(*command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        'weir: the cluster: streamqueries.weir.dev is forbidden: User "ada" cannot list them; '
        "see `kubectl cluster-info` and `kubectl auth can-i --list`"
    )
