"""`weir run` starts processes with the variables that the query says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from weir_operator.controller.decision import Start
from weir_operator.local.cluster import LocalCluster
from weir_placement.fragments import Layout
from weir_placement.model.fragment import FragmentSpec, Output

from tests.manifests.scene import obj


def test_on_one_machine_a_process_has_the_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, str]] = []

    class RecordedChild:
        pid = 0

        def __init__(self, command: list[str], env: dict[str, str], **options: object) -> None:
            started.append(env)

    monkeypatch.setattr(subprocess, "Popen", RecordedChild)
    query = obj("StreamQuery", "q", {"env": [{"name": "TZ", "value": "UTC"}]})
    spec = FragmentSpec(
        "q-f", "default", "q", "n", 1, (), (), Output("noop"), "/c", "l", str(tmp_path / "state.json")
    )
    LocalCluster(tmp_path, Layout(str(tmp_path)), lambda: [query]).apply(Start(spec, "b", "default/q"))
    assert started[0]["TZ"] == "UTC"
