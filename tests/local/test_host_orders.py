"""What hosts of this machine are told, and what is seen of them; no host runs."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from weir_operator.controller.decision import CleanUp, Start, Stop
from weir_operator.local import hosts
from weir_operator.local.cluster import LocalCluster
from weir_placement.fragments import Layout
from weir_placement.model.fragment import FragmentSpec, Output
from weir_runtime.names import write_whole

from tests.manifests.scene import obj


class HostScene:
    """A cluster on this machine whose processes are all this one."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.started: list[str] = []
        scene = self

        class ChildOfHost:
            pid = os.getpid()

            def __init__(self, command: list[str], **options: object) -> None:
                scene.started.append(command[2])

            def poll(self) -> None:
                return None

        monkeypatch.setattr(subprocess, "Popen", ChildOfHost)
        plain, other = (obj("StreamQuery", name, {}) for name in ("q", "r"))
        special = obj("StreamQuery", "s", {"env": [{"name": "TZ", "value": "UTC"}]})
        self.cluster = LocalCluster(folder, Layout(str(folder)), lambda: [plain, other, special])

    def start(self, name: str, query: str, shared: bool = True, **changes: Any) -> FragmentSpec:
        state = str(self.folder / f"{name}.json")
        spec = FragmentSpec(name, "default", query, "n", 1, (), (), Output("noop"), "/c", "l", state)
        spec = replace(spec, **changes)
        self.cluster.apply(Start(spec, "b", f"default/{query}", shared=shared))
        return spec

    def orders(self) -> list[list[str]]:
        """Of each host."""
        files = sorted(self.folder.glob("hosts/*/desired.json"))
        return sorted(sorted(json.loads(file.read_text())["fragments"]) for file in files)

    def says(self, **phases: str) -> None:
        """Of the one host: what it runs, and why something should be alone (`running, <why>`)."""
        (file,) = self.folder.glob("hosts/*/desired.json")
        fragments = {}
        for key, text in phases.items():
            phase, _, alone = text.partition(", ")
            fragments[key] = {"phase": phase, "restarts": 2, "alone": alone}
        state = {"pid": os.getpid(), "fragments": fragments}
        write_whole(file.with_name("state.json"), json.dumps(state))


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostScene:
    return HostScene(tmp_path, monkeypatch)


def test_a_host_runs_what_has_node_policy_namespace_and_environment_in_common(scene: HostScene) -> None:
    scene.start("q-f", "q")
    scene.start("r-f", "r")
    scene.start("s-f", "s")
    scene.start("r-g", "r", node="m")
    assert scene.orders() == [["q-f-e1", "r-f-e1"], ["r-g-e1"], ["s-f-e1"]]
    assert scene.started == ["weir_runtime.host"] * 3


def test_what_is_not_to_share_has_a_process_of_its_own(scene: HostScene) -> None:
    scene.start("q-f", "q", shared=False)
    assert scene.orders() == []
    assert scene.started == ["weir_runtime"]


def test_what_a_host_before_has_said_is_not_what_runs(scene: HostScene) -> None:
    spec = scene.start("q-f", "q")
    write_whole(Path(spec.state), json.dumps({"phase": "running", "pid": os.getpid() + 1, "at": 1.0}))
    (process,) = scene.cluster.processes.observe()
    assert process.state == "starting"
    write_whole(Path(spec.state), json.dumps({"phase": "running", "pid": os.getpid(), "at": 1.0}))
    scene.says(**{"q-f-e1": "running"})
    (process,) = scene.cluster.processes.observe()
    assert (process.state, process.restarts) == ("running", 2)


def test_a_fragment_is_gone_when_its_host_has_left_it(
    scene: HostScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: signals.append(number))
    scene.start("q-f", "q")
    scene.says(**{"q-f-e1": "running"})
    for _ in range(2):
        scene.cluster.apply(Stop("q-f", 1, "no longer desired"))
        assert [process.terminating for process in scene.cluster.processes.observe()] == [True]
    assert scene.orders() == [[]]
    scene.says()
    scene.cluster.apply(Stop("q-f", 1, "no longer desired"))
    assert scene.cluster.processes.observe() == ()
    assert len(signals) == 1, "a host that has nothing to run ends"


def test_what_its_host_wants_alone_gets_a_process_of_its_own_once_the_host_has_left_it(
    scene: HostScene,
) -> None:
    scene.start("q-f", "q")
    scene.start("r-f", "r")
    scene.says(**{"q-f-e1": "failed, out of memory", "r-f-e1": "running"})
    failed, healthy = scene.cluster.processes.observe()
    assert (failed.fragment, failed.state, healthy.state) == ("q-f", "failed", "starting")
    assert "out of memory" in failed.message
    assert scene.orders() == [["r-f-e1"]]
    scene.start("q-f", "q")
    assert scene.started == ["weir_runtime.host"], "two at once would fence each other"
    scene.says(**{"r-f-e1": "running"})
    scene.start("q-f", "q")
    assert scene.started == ["weir_runtime.host", "weir_runtime"]
    assert scene.orders() == [["r-f-e1"]]

    scene.start("q-f", "q", epoch=2)
    assert scene.started == ["weir_runtime.host", "weir_runtime", "weir_runtime"], "also where it moves"
    scene.cluster.apply(CleanUp("q-f", "default/q"))
    scene.start("q-f", "q", epoch=3)
    assert scene.orders() == [["q-f-e3", "r-f-e1"]], "one that comes back is as any other"


def test_a_host_that_ended_for_want_of_memory_is_started_without_the_largest(
    scene: HostScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start("q-f", "q")
    scene.start("r-f", "r")
    scene.says(**{"q-f-e1": "running, out of memory: the largest", "r-f-e1": "running"})
    monkeypatch.setattr(hosts, "holder_is_gone", lambda holder: True)
    by_name = {process.fragment: process for process in scene.cluster.processes.observe()}
    assert "the largest" in by_name["q-f"].message
    assert scene.orders() == [["r-f-e1"]], "before anybody starts it again"
