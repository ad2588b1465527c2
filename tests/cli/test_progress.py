"""What `weir run` shows: each query and each of its fragments' nodes by its whole name."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from weir_operator.cli.columns import UNLIMITED
from weir_operator.cli.progress import progress
from weir_operator.controller.decision import Start
from weir_operator.controller.observed_state import Process
from weir_operator.local.machine import Machine, Options
from weir_operator.local.processes import Processes
from weir_placement.fragments import Knobs

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
SITES = Path(__file__).with_name("sites.yaml")
PROCESS = Process("", 1, "", "", "running", 0.0, "")


@pytest.fixture(params=["flights", "long-names"])
def machine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Whose processes are only said to run."""
    started: list[Process] = []

    def start(_: Processes, order: Start, environment: object, shared: bool) -> None:
        spec = order.spec
        node = {"node": spec.node, "planned_node": spec.node}
        started.append(replace(PROCESS, fragment=spec.name, epoch=spec.epoch, build=order.build, **node))

    monkeypatch.setattr(Processes, "start", start)
    monkeypatch.setattr(Processes, "observe", lambda _: tuple(started))
    names = ("streams", "queries", "cluster", "policy")
    files = [FLIGHTS / f"{name}.yaml" for name in names] if request.param == "flights" else [SITES]
    it = Machine(Options(tuple(map(str, files)), tmp_path, tmp_path, Knobs()), lambda findings: None)
    for _ in range(3):
        it.loop.once()
    return it


@pytest.mark.parametrize("width", [80, 120, UNLIMITED])
def test_every_query_and_node_is_whole(machine: Machine, width: int) -> None:
    out = Console(file=io.StringIO(), width=width)
    out.print(progress(machine.loop, width))
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text
    assert machine.loop.observed is not None
    assert machine.loop.observed.processes
    for process in machine.loop.observed.processes:
        assert process.node in text
        assert process.fragment.rsplit("-", 1)[0] in text
    joined = "".join(text.split())  # namespace/name may be longer than a line
    for manifest in machine.objects():
        if manifest["kind"] == "StreamQuery":
            assert manifest["metadata"]["name"] in joined
    assert text.count("running") == len(machine.loop.observed.processes)
