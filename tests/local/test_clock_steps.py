"""The machine's clock is set while processes run: what ended starts again, and what was told to stop ends."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from weir_operator.controller.decision import Start
from weir_operator.local import processes
from weir_operator.local.processes import GRACE, WELL, Processes
from weir_placement.model.fragment import FragmentSpec, Output

HOUR = 3600.0


class Child:
    """A process that ends at once."""

    def __init__(self, *command: object, **options: object) -> None:
        self.pid = 2**22 + 1  # no process has it

    def poll(self) -> int | None:
        return 1


class LivingChild(Child):
    """One that goes on."""

    def __init__(self, *command: object, **options: object) -> None:
        self.pid = os.getpid()

    def poll(self) -> int | None:
        return None


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """[s] Ahead of the true ones: the time of day, which somebody sets, and the time since the start."""
    ahead = {"time": 0.0, "monotonic": 0.0}
    true = {name: getattr(time, name) for name in ahead}
    for name in ahead:
        monkeypatch.setattr(time, name, lambda name=name: true[name]() + ahead[name])
    return ahead


def test_what_ended_starts_again_when_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clocks: dict[str, float]
) -> None:
    """It waited for the hour to come again."""
    monkeypatch.setattr(subprocess, "Popen", Child)
    output = Output("noop")
    start = Start(
        FragmentSpec("f", "default", "q", "n", 1, (), (), output, "/c", "l", str(tmp_path / "s")), "b", "q"
    )
    machine = Processes(tmp_path)

    def restarts() -> int:
        machine.start(start, {})
        return int(machine.observe()[0].restarts)

    clocks["time"] = HOUR
    assert [restarts(), restarts()] == [0, 1]
    assert restarts() == 1, "the second time it waits"
    clocks["time"] = 0.0
    assert restarts() == 1, "setting the clock back is no reason to begin sooner"
    clocks["monotonic"] = 4.1
    assert restarts() == 2


def test_a_process_that_starts_again_has_the_reason_of_the_one_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deadline that passed while it started had none to give."""
    monkeypatch.setattr(subprocess, "Popen", Child)
    state = tmp_path / "s"
    start = Start(
        FragmentSpec("f", "default", "q", "n", 1, (), (), Output("noop"), "/c", "l", str(state)), "b", "q"
    )
    machine = Processes(tmp_path)
    machine.start(start, {})
    state.write_text(json.dumps({"phase": "failed", "error": "OSError: out: no space"}))
    monkeypatch.setattr(subprocess, "Popen", LivingChild)
    machine.start(start, {})
    (process,) = machine.observe()
    assert (process.state, process.restarts, process.message) == ("starting", 1, "OSError: out: no space")
    state.write_text(json.dumps({"phase": "running"}))
    assert machine.observe()[0].message == ""


def test_what_was_told_to_stop_is_killed_although_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clocks: dict[str, float]
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(processes, "_gone", lambda entry: False)
    monkeypatch.setattr(processes, "_signal", lambda entry, number: sent.append(number.name))
    (tmp_path / "processes").mkdir()
    (tmp_path / "processes" / "f-e1.json").write_text(json.dumps({"fragment": "f", "epoch": 1}))
    machine = Processes(tmp_path)
    machine.stop("f", 1)
    clocks["time"], clocks["monotonic"] = -HOUR, GRACE + 1.0
    machine.stop("f", 1)
    assert sent == ["SIGTERM", "SIGKILL"]


def test_a_process_that_ran_well_is_restarted_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clocks: dict[str, float]
) -> None:
    """However often it had failed before: after months every restart waited for a minute."""
    monkeypatch.setattr(subprocess, "Popen", Child)
    output = Output("noop")
    spec = FragmentSpec("f", "default", "q", "n", 1, (), (), output, "/c", "l", str(tmp_path / "s"))
    machine = Processes(tmp_path)
    for _ in range(6):
        machine.start(Start(spec, "b", "q"), {})
        clocks["monotonic"] += 61.0
    assert machine.observe()[0].restarts == 5
    clocks["monotonic"] += WELL
    machine.start(Start(spec, "b", "q"), {})
    assert machine.observe()[0].restarts == 1
    machine.start(Start(spec, "b", "q"), {})
    assert machine.observe()[0].restarts == 1, "the second time it waits"
    clocks["monotonic"] += 4.1
    machine.start(Start(spec, "b", "q"), {})
    assert machine.observe()[0].restarts == 2
