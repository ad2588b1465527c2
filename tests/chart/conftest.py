"""The chart, rendered by helm; the tools come from hack/tools, built once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.schemas import write_schemas

REPOSITORY = Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "charts" / "weir"
TOOLS = Path(os.environ.get("WEIR_CACHE", Path.home() / ".cache" / "weir")) / "bin"
ENVIRONMENT = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"}

Manifest = dict[str, Any]
Render = Callable[..., list[Manifest]]
Judge = Callable[..., subprocess.CompletedProcess[str]]

EVERYTHING = (
    "metrics.serviceMonitor.enabled=true",
    "metrics.podMonitor.enabled=true",
    "prometheusRule.enabled=true",
    "grafana.dashboard.enabled=true",
    "networkPolicy.enabled=true",
    "webhook.enabled=true",
)


def run(*command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A program of hack/tools; its output is text."""
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=ENVIRONMENT, cwd=REPOSITORY, check=False
    )


@pytest.fixture(scope="session", autouse=True)
def tools() -> None:
    """helm, kubeconform and promtool."""
    subprocess.run(["hack/tools", "helm", "kubeconform", "promtool"], check=True, cwd=REPOSITORY)


@pytest.fixture(scope="session")
def text() -> Callable[..., str]:
    """The chart as helm renders it with the given settings."""

    def render(*settings: str) -> str:
        options = [f"--set={setting}" for setting in settings]
        process = run(
            "helm", "template", "weir", str(CHART), "-n", "weir-system", "--kube-version", "1.34.0", *options
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    return render


@pytest.fixture(scope="session")
def render(text: Callable[..., str]) -> Render:
    """The objects of the rendered chart."""
    return lambda *settings: [o for o in yaml.safe_load_all(text(*settings)) if o]


@pytest.fixture(scope="session")
def kubeconform(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """What kubeconform says of manifests; a kind without a schema is an error unless it is `skipped`."""
    folder = tmp_path_factory.mktemp("schemas")
    write_schemas(folder)
    options = ["-strict", "-summary", "-schema-location", f"{folder}/{{{{.ResourceKind}}}}.json"]

    def judge(manifests: str, skipped: str = "") -> subprocess.CompletedProcess[str]:
        return run("kubeconform", *options, *(("-skip", skipped) if skipped else ()), stdin=manifests)

    return judge
