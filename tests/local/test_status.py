"""`weir status` of a run folder: what is so now, also when no controller is there to say it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_operator.controller.observed_state import Process
from weir_operator.local.balances import QueryBalance, SourceBalance
from weir_operator.local.machine import Machine, Options
from weir_operator.local.processes import Processes
from weir_placement.fragments import Knobs

from tests.local.test_machine import MANIFESTS

States = dict[str, str]


class EndedRun:
    """A machine whose processes are only said to be in a state."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "all.yaml").write_text(MANIFESTS.format(least="10", cordoned="false"))
        options = Options((str(folder / "all.yaml"),), folder / "run", folder, Knobs())
        self.folder = folder
        self.state = "running"
        self.machine = Machine(options, lambda findings: None)
        self.started: list[Process] = []
        monkeypatch.setattr(
            Processes, "start", lambda _, start, environment, shared=False: self._start(start)
        )
        monkeypatch.setattr(Processes, "observe", lambda _: tuple(self._processes()))
        self.machine.cluster.store.attend()
        self.rounds()

    def _start(self, start) -> None:  # type: ignore[no-untyped-def]
        node = start.spec.node
        args = (start.spec.name, start.spec.epoch, node, node, "running", 0.0, start.build)
        self.started.append(Process(*args))

    def _processes(self):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        return [replace(process, state=self.state) for process in self.started] if self.state else []

    def rounds(self) -> None:
        for _ in range(3):
            self.machine.loop.once()

    def ends(self) -> None:
        """The controller is killed: it says nothing more."""
        ended = subprocess.Popen([sys.executable, "-c", ""])
        from weir_runtime.lease import holder_name

        holder = holder_name(ended.pid)
        ended.wait()
        (self.folder / "run" / "controller.json").write_text(json.dumps({"holder": holder}))

    def status(self, capsys: pytest.CaptureFixture[str]) -> str:
        assert main(["status", "--run-folder", str(self.folder / "run")]) == 0
        return capsys.readouterr().out

    def line(self, capsys: pytest.CaptureFixture[str]) -> list[str]:
        (row,) = [x for x in self.status(capsys).splitlines() if x.startswith("default/sums ")]
        return row.split()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EndedRun:
    monkeypatch.delenv("COLUMNS", raising=False)
    return EndedRun(tmp_path, monkeypatch)


def test_one_line_says_how_a_query_is(run: EndedRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.line(capsys)[:4] == ["default/sums", "True", "Running", "1/1"]
    assert run.line(capsys)[-1] == "n1"
    assert "has ended" not in run.status(capsys)


def test_a_query_whose_inputs_have_ended_is_finished_and_says_where_its_rows_are(
    run: EndedRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run.state = "finished"
    run.rounds()
    monkeypatch.chdir(run.folder)
    assert run.line(capsys)[1:3] == ["True", "Finished"]
    assert "default/sums: results are in out" in run.status(capsys)


def test_an_input_of_which_no_row_could_be_read_is_said_after_the_end_too(
    run: EndedRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run.state = "finished"
    run.rounds()
    sources = (SourceBalance("default/semi", used=0, late=0, bad=2, lost=0, least=False),)
    counts = {"default/sums": QueryBalance(sources, 0, least=False)}
    monkeypatch.setattr("weir_operator.local.balances.balances", lambda folder: counts)
    monkeypatch.setattr("weir_operator.cli.run_report.balances", lambda folder: counts)
    output = run.status(capsys)
    assert "default/sums: no row of stream default/semi could be read; bad: 2" in output
    assert "results are in" not in output


def test_a_folder_of_files_that_are_never_read_is_said(
    run: EndedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run.folder / "in" / "clicks"
    assert f"{folder}: no such folder" in run.status(capsys)
    folder.mkdir(parents=True)
    assert "Stream default/" not in run.status(capsys)
    (folder / "rows.parquet").touch()
    assert f"{folder}: rows.parquet is never read: files are named" in run.status(capsys)


def test_what_ended_after_the_controller_is_finished_too(
    run: EndedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run.ends()
    run.state = "finished"
    assert run.line(capsys)[1:3] == ["True", "Finished"]
    assert "`weir run` has ended in" in run.status(capsys)


@pytest.mark.parametrize(
    ("state", "line", "note"),
    [
        ("running", ["True", "Unattended", "1/1"], "its processes still run, but not `weir run`"),
        ("stopped", ["False", "Stopped", "0/1"], "its state is kept"),
        ("", ["False", "Stopped", "0/1"], "its state is kept"),
    ],
)
def test_what_a_dead_controller_wrote_is_not_repeated(
    run: EndedRun, capsys: pytest.CaptureFixture[str], state: str, line: list[str], note: str
) -> None:
    run.ends()
    run.state = state
    assert run.line(capsys)[1:4] == line
    assert f"default/sums: {note}" in run.status(capsys)


def test_a_query_that_has_no_plan_has_a_line_with_the_reason_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = EndedRun(tmp_path, monkeypatch)
    text = (tmp_path / "all.yaml").read_text()
    more = text.split("---\n")
    query = next(part for part in more if "kind: StreamQuery" in part)
    slow = query.replace("sums", "too-slow").replace("  sql:", "  maxLatency: 1us\n  sql:")
    (tmp_path / "all.yaml").write_text(f"{text}\n---\n{slow}")
    run.rounds()
    out = run.status(capsys)
    (line,) = [x for x in out.splitlines() if x.startswith("default/too-slow ")]
    assert "Rejected" in line
    status = json.loads((tmp_path / "run/status/StreamQuery/default/too-slow.json").read_text())
    (ready,) = [c for c in status["conditions"] if c["type"] == "Ready"]
    assert f"default/too-slow: {ready['message']}" in " ".join(out.split())
    assert main(["explain", "too-slow", "--run-folder", str(tmp_path / "run")]) == 0
    assert ready["message"] in " ".join(capsys.readouterr().out.split())


def test_a_second_run_in_the_folder_is_refused(run: EndedRun, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(run.folder / "run")
    assert main(["run", "-f", str(run.folder / "all.yaml"), "--run-folder", folder]) == 2
    assert f"`weir run` is at work in {folder} already" in capsys.readouterr().err


def test_all_is_written_at_once(run: EndedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """`weir status | grep -q` ends with the line that grep wants, also where a broken pipe counts."""
    writes: list[str] = []
    monkeypatch.setattr("sys.stdout.write", writes.append)
    assert main(["status", "--run-folder", str(run.folder / "run")]) == 0
    assert len([text for text in writes if text.strip()]) == 1
