"""What README.md says about clusters, command by command, on a cluster where nothing of Weir is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import flights
from tests.e2e.conftest import OPERATOR_NAMESPACE, OPERATORS, SHARED, uninstall
from tests.e2e.kubectl import CLUSTER, ENVIRONMENT, REPOSITORY, WORKERS, get, kubectl

README = (REPOSITORY / "README.md").read_text()
SECTION = README.partition("## On a Kubernetes cluster\n")[2].partition("\n## ")[0]
BLOCKS = [block.replace("\n    ", "\n").strip() for block in re.findall(r"(?:^    .*\n)+", SECTION, re.M)]
NAMESPACE = "flights"
IMAGES = ("weir-operator", "weir-runtime", "kafka", "weir-flights")
REGISTRY, TAG = "registry.example.org/weir", "v1"


@pytest.fixture
def bare(cluster: None) -> Iterator[None]:
    """The cluster without Weir, before and after."""
    _remove()
    yield
    _remove()


def _remove() -> None:
    uninstall()
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=180s", timeout=200)
    kubectl("delete", "persistentvolume", "weir-flights", "--ignore-not-found")
    folder = SHARED / NAMESPACE
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o777)


def test_a_demo_without_a_flag(bare: None) -> None:
    """As `make cluster-demo` runs it behind `make cluster`; the chart without any value."""
    assert "make cluster-demo" in BLOCKS[0]
    done = subprocess.run(
        ["hack/cluster/demo"], cwd=REPOSITORY, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    drained = re.search(r"draining (\S+),", done.stderr)
    assert drained, done.stderr
    before, _, after = done.stderr.partition(f"{drained[1]} is empty; the plan now:")
    assert rows(after)[-1] > rows(before)[-1] > 0
    assert drained[1] not in flights.nodes_of(NAMESPACE).values()
    operators = get("pods", "-n", OPERATOR_NAMESPACE, *OPERATORS)
    assert {pod["spec"]["nodeName"] for pod in operators} <= set(WORKERS)


def rows(text: str) -> list[int]:
    """Rows of all results, each time that they are shown."""
    lines = [re.findall(r": (\d+) rows", line) for line in text.splitlines()]
    return [sum(map(int, numbers)) for numbers in lines if numbers]


def test_the_commands_for_a_cluster_with_a_registry(bare: None, tmp_path: Path) -> None:
    """All but the push: the nodes have the images under the names that they would have pulled."""
    build, *commands = BLOCKS[1].replace("\\\n", " ").splitlines()
    assert build.startswith(f"make images REGISTRY={REGISTRY} TAG={TAG} ")
    on_the_nodes()
    for folder in ("charts", "examples"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    kubectl("apply", "-f", "hack/cluster/flights/volume.yaml")  # what the claim of the example binds to
    script = "set -e\n" + "\n".join(commands)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    assert flights.images(NAMESPACE) == {f"{REGISTRY}/weir-runtime:{TAG}"}


def on_the_nodes() -> None:
    names = [f"{REGISTRY}/{image}:{TAG}" for image in IMAGES]
    for image, name in zip(IMAGES, names, strict=True):
        subprocess.run(["docker", "tag", f"{image}:dev", name], check=True)
    archive = SHARED / "readme.tar"
    subprocess.run(["docker", "save", "-o", str(archive), *names], check=True)
    try:
        for node in (*WORKERS, f"{CLUSTER}-control-plane"):
            load = ["ctr", "-n", "k8s.io", "images", "import", f"/var/weir-shared/{archive.name}"]
            subprocess.run(["docker", "exec", node, *load], check=True, capture_output=True)
    finally:
        archive.unlink()
