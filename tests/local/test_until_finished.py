"""`weir run --until-finished` ends when every query has run to its end, and says which could not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_operator.controller.decision import Start
from weir_operator.controller.observed_state import Process
from weir_operator.local.processes import Processes
from weir_operator.local.store import RunStore

from tests.local.place import MANIFESTS


class FiniteProcesses:
    """Processes that are at work for one look, and have then read their whole input."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.queries: list[str] = []
        self.refused = ""  # the query whose processes cannot run as they are told
        self.at_start: Callable[[], object] = lambda: None
        self._processes: dict[str, Process] = {}
        monkeypatch.setattr(Processes, "start", lambda _, start, *rest: self._start(start))
        monkeypatch.setattr(Processes, "stop", lambda _, fragment, epoch: self._processes.pop(fragment, None))
        monkeypatch.setattr(Processes, "stop_all", lambda _: None)
        monkeypatch.setattr(Processes, "observe", lambda _: self._observe())
        monkeypatch.setattr(RunStore, "attended", lambda _: False)  # the earlier run was this process
        monkeypatch.setattr("weir_operator.cli.run.time.sleep", lambda seconds: None)

    def _start(self, start: Start) -> None:
        self.at_start()
        node, self.queries = start.spec.node, [*self.queries, start.query]
        process = Process(start.spec.name, start.spec.epoch, node, node, "starting", 0.0, start.build)
        if start.query == self.refused:
            process = replace(process, state="failed", refused=True, message="out: is not empty")
        self._processes.setdefault(start.spec.name, process)

    def _observe(self) -> tuple[Process, ...]:
        seen = tuple(self._processes.values())
        following = {"starting": "running", "running": "finished"}
        self._processes = {p.fragment: replace(p, state=following.get(p.state, p.state)) for p in seen}
        return seen

    def weir_run(self, text: str) -> int:
        (self.folder / "all.yaml").write_text(text)
        files = ["-f", str(self.folder / "all.yaml"), "--run-folder", str(self.folder / "run")]
        return main(["run", *files, "--until-finished"])


SUMS = MANIFESTS.format(least="10", cordoned="false")
(QUERY,) = (part for part in SUMS.split("---\n") if "StreamQuery" in part)


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FiniteProcesses:
    monkeypatch.chdir(tmp_path)
    return FiniteProcesses(tmp_path, monkeypatch)


def test_a_query_that_comes_after_the_end_of_another_is_run(processes: FiniteProcesses) -> None:
    assert processes.weir_run(SUMS) == 0
    assert processes.queries == ["default/sums"]
    assert processes.weir_run(f"{SUMS}---\n{QUERY.replace('sums', 'more')}") == 0
    assert processes.queries == ["default/sums", "default/more"]


def test_the_last_line_of_what_is_piped_ends(
    processes: FiniteProcesses, capsys: pytest.CaptureFixture[str]
) -> None:
    assert processes.weir_run(SUMS) == 0
    out = capsys.readouterr().out
    assert out.endswith("the plan carries\n")
    assert "infx" not in out


def test_a_query_without_a_plan_is_told_beside_those_that_have_finished(
    processes: FiniteProcesses, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = QUERY.replace("sums", "slow").replace("  sql:", "  maxLatency: 1us\n  sql:")
    assert processes.weir_run(f"{SUMS}---\n{slow}") == 1
    assert processes.queries == ["default/sums"]
    assert "default/slow: not finished: " in capsys.readouterr().out


def test_a_query_whose_fragment_refuses_its_spec_is_not_waited_for(
    processes: FiniteProcesses, capsys: pytest.CaptureFixture[str]
) -> None:
    processes.refused = "default/more"
    assert processes.weir_run(f"{SUMS}---\n{QUERY.replace('sums', 'more')}") == 1
    out = capsys.readouterr().out
    assert "default/more: not finished: out: is not empty" in out
    assert "default/sums: every input has ended" in out


def test_an_edit_of_what_has_finished_is_refused_and_says_what_to_do(
    processes: FiniteProcesses, capsys: pytest.CaptureFixture[str]
) -> None:
    assert processes.weir_run(SUMS) == 0
    edited = SUMS.replace("c.v > 10", "c.v > 20")
    assert processes.weir_run(edited) == 1
    assert processes.queries == ["default/sums"]
    out = capsys.readouterr().out
    assert "default/sums: not finished: edited after its inputs had ended" in out
    assert processes.weir_run(edited.replace("out/sums", "out/new")) == 0
    assert processes.queries == ["default/sums", "default/sums"]


def test_an_edit_with_errors_ends_no_run(
    processes: FiniteProcesses, capsys: pytest.CaptureFixture[str]
) -> None:
    path, wrong = processes.folder / "all.yaml", SUMS.replace("count(*)", "coumt(*)")
    processes.at_start = lambda: path.write_text(wrong)
    assert processes.weir_run(SUMS) == 0
    out = capsys.readouterr().out
    assert out.count("nothing changes until this is fixed") == 1
    assert f"{path}:22:29: StreamQuery default/sums: spec.sql: " in out
    assert "default/sums: every input has ended" in out
