"""A query that no plan carries: every resource that is short is named, in the manifests' units."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from weir_operator.cli import main

from tests.mistakes.mistake import SCENE


def rejected(
    folder: Path, capsys: pytest.CaptureFixture[str], *changes: tuple[str, str], **objective: str
) -> str:
    """The line about the rejected query of the scene with other values."""
    shutil.copytree(SCENE, folder / "scene")
    for file in (folder / "scene").glob("*.yaml"):
        text = file.read_text()
        for old, new in changes:
            text = text.replace(old, new)
        file.write_text(text)
    options = [f"--{name}={value}" for name, value in objective.items()]
    assert main(["plan", "-f", str(folder / "scene"), *options]) == 1
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "rejected default/hot" in line)
    return line


def test_memory_and_what_is_short_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ('cpu: "4", memory: 8Gi', "cpu: 1m, memory: 1300Mi"), ("rate: 100\n", "rate: 100k\n")
    line = rejected(tmp_path, capsys, *few)
    assert "Mi needed at the expected rates" in line
    assert "also short at these rates: cpu of node" in line


def test_bandwidth_is_in_bits_as_in_the_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = rejected(tmp_path, capsys, ("bandwidth: 50M", "bandwidth: 1k"), objective="network-usage")
    assert "bandwidth of link" in line
    assert "1 kbit/s" in line
    assert "bytes" not in line


def test_a_limit_of_latency_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = (
        "sink: {console: {}}\n---",
        "sink: {console: {}}\n  deliverTo: {zone: south}\n  maxLatency: 0s\n---",
    )
    line = rejected(tmp_path, capsys, limit)
    assert f"rejected default/hot ({tmp_path}/scene/queries.yaml:12): latency of query default/hot" in line


@pytest.mark.parametrize("objective", ["headroom", "network-usage"])
def test_a_limit_of_latency_that_would_do_is_named_and_does(
    objective: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def limited(limit: str) -> tuple[str, str]:
        return "sink: {console: {}}\n---", f"sink: {{console: {{}}}}\n  maxLatency: {limit}\n---"

    line = rejected(tmp_path / "short", capsys, limited("1ms"), objective=objective)
    assert "queries.yaml:11)" in line
    enough = line.rpartition("; write at least ")[2]
    assert enough == "21ms"
    file = tmp_path / "short" / "scene" / "queries.yaml"
    file.write_text(file.read_text().replace("1ms", enough))
    assert main(["plan", "-f", str(file.parent), f"--objective={objective}"]) == 0


def test_where_no_query_is_placed_there_is_no_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SCENE, tmp_path / "scene")
    cluster = tmp_path / "scene" / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("memory: 8Gi", "memory: 1Gi"))
    assert main(["plan", "-f", str(tmp_path / "scene")]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "no query is placed"
