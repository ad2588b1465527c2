"""Commands over a run folder (status, diff, explain, approve, rollback, unpin), and files that are edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_operator.controller.decision import Decision
from weir_operator.local.machine import Machine, Options
from weir_placement.fragments import Knobs

from tests.local.test_machine import MANIFESTS


class Told:
    """A machine whose decisions are written down, and whose processes are never started."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder, self.mode = folder, mode
        self.complaints: list[str] = []
        self.say()
        options = Options((str(folder / "all.yaml"),), folder / "run", folder, Knobs())
        self.machine = Machine(options, lambda findings: self.complaints.extend(map(str, findings)))
        self.machine.cluster.processes.start = lambda *_: None  # type: ignore[method-assign]

    def say(self, least: str = "10") -> None:
        text = MANIFESTS.format(least=least, cordoned="false")
        (self.folder / "all.yaml").write_text(text.replace("exact-dp}", f"exact-dp}}, mode: {self.mode}"))

    def once(self) -> Decision:
        return self.machine.loop.once()

    def weir(self, command: str, *arguments: str) -> int:
        return main([command, *arguments, "--run-folder", str(self.folder / "run")])

    def placement(self) -> dict:  # type: ignore[type-arg]
        (placement,) = self.machine.cluster.store.placements()
        return placement


@pytest.fixture
def manual(tmp_path: Path) -> Told:
    return Told(tmp_path, "Manual")


@pytest.fixture
def auto(tmp_path: Path) -> Told:
    return Told(tmp_path, "Auto")


def test_a_proposed_plan_waits_for_its_approval(manual: Told, capsys: pytest.CaptureFixture[str]) -> None:
    manual.once()
    plan = manual.placement()["status"]["proposed"]["hash"]
    assert manual.weir("approve", "sums", "1") == 2
    assert f"plan 1 is not proposed; the proposed plan is {plan}" in capsys.readouterr().err
    assert manual.weir("approve", "sums", plan) == 0
    manual.once()
    assert manual.placement()["spec"]["revision"] == 1
    assert "proposed" not in manual.placement()["status"]


def test_a_rollback_names_the_revisions_that_are_there(
    auto: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    auto.once()
    assert auto.weir("rollback", "sums", "9") == 2
    assert "revisions: 1" in capsys.readouterr().err
    assert auto.weir("rollback", "default/sums", "1") == 0
    assert auto.placement()["spec"]["pinned"] == 1
    assert auto.weir("unpin", "sums") == 0
    assert "pinned" not in auto.placement()["spec"]
    capsys.readouterr()
    assert auto.weir("unpin", "sums") == 0
    assert capsys.readouterr().out == "default/sums: was not pinned; it follows its policy\n"


def test_explain_heeds_the_namespace(auto: Told, capsys: pytest.CaptureFixture[str]) -> None:
    auto.once()
    assert auto.weir("explain", "sums", "-n", "shop") == 2
    assert capsys.readouterr().err == "shop/sums: no such query; see `weir status`\n"
    assert auto.weir("explain", "sums", "-n", "default") == 0


def test_status_and_explain_say_where_and_why(auto: Told, capsys: pytest.CaptureFixture[str]) -> None:
    auto.once()
    assert auto.weir("status") == 0
    assert "default/sums" in capsys.readouterr().out
    assert auto.weir("explain", "sums") == 0
    output = capsys.readouterr().out
    assert "n1" in output
    assert "first plan" in output
    assert auto.weir("explain", "nobody") == 2


def test_diff_shows_what_an_edit_would_change_and_changes_nothing(
    auto: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(auto.folder / "all.yaml")
    assert auto.weir("diff", "-f", path) == 1
    assert "+ p1 on n1" in capsys.readouterr().out
    auto.once()
    assert auto.weir("diff", "-f", path) == 0
    assert len(list(auto.machine.cluster.store.placements())) == 1


def test_generations_count_edits_and_survive_the_controller(auto: Told) -> None:
    auto.once()
    first = {o["metadata"]["name"]: o["metadata"] for o in auto.machine.files.objects()}
    auto.say(least="20")
    options = auto.machine.options
    later = Machine(options, lambda findings: None).files.objects()
    second = {o["metadata"]["name"]: o["metadata"] for o in later}
    assert second["sums"]["generation"] == first["sums"]["generation"] + 1
    assert second["clicks"]["generation"] == first["clicks"]["generation"]
    assert second["sums"]["uid"] == first["sums"]["uid"]


def test_a_wrong_edit_is_told_once_and_changes_nothing(auto: Told) -> None:
    auto.once()
    before = auto.machine.files.objects()
    text = (auto.folder / "all.yaml").read_text()
    (auto.folder / "all.yaml").write_text(text.replace("watermark", "watermrak"))
    assert auto.machine.files.objects() == before
    assert auto.machine.files.objects() == before
    assert len([c for c in auto.complaints if "watermrak" in c]) == 1


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("k BIGINT, v BIGINT", "k BIGINT v BIGINT", ":6: Stream default/clicks: spec.schema: "),
        ("count(*) AS n", "coumt(*) AS n", ":22:29: StreamQuery default/sums: spec.sql: "),
    ],
)
def test_an_edit_that_reads_and_means_nothing_is_told_once_and_changes_nothing(
    auto: Told, right: str, wrong: str, place: str
) -> None:
    auto.once()
    before, path = auto.machine.files.objects(), auto.folder / "all.yaml"
    path.write_text(path.read_text().replace(right, wrong))
    for _ in range(3):
        auto.once()
        assert auto.machine.files.objects() == before
    (complaint,) = auto.complaints
    assert complaint.startswith(f"{path}{place}")
    (status,) = [status for _, status in auto.machine.cluster.store.queries()]
    assert {c["type"]: c["status"] for c in status["conditions"]}["Stalled"] == "False"
    path.write_text(path.read_text().replace(wrong, right))
    assert auto.machine.files.objects() == before
    assert len(auto.complaints) == 1
