"""The example's images can come from a registry, by the line that the documentation has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.flights.kustomized import FLIGHTS, REPOSITORY, manifests


def images_of(manifests: list[dict[str, Any]]) -> set[str]:
    """Names of the images that pods of theirs run."""
    pods = [m["spec"]["template"]["spec"] for m in manifests if m["kind"] in ("Deployment", "Job")]
    return {container["image"].rsplit(":", 1)[0] for pod in pods for container in pod["containers"]}


@pytest.mark.parametrize("page", ["README.md", "docs/kubernetes.md"])
def test_the_documented_line_points_every_image_at_a_registry(tmp_path: Path, page: str) -> None:
    (line,) = re.findall(
        r"^    (sed -i .* examples/flights/kustomization\.yaml)$", (REPOSITORY / page).read_text(), re.M
    )
    copy = tmp_path / "examples" / "flights" / "kustomization.yaml"
    copy.parent.mkdir(parents=True)
    copy.write_text((FLIGHTS / "kustomization.yaml").read_text())
    subprocess.run(["bash", "-c", line], check=True, cwd=tmp_path)
    images = yaml.safe_load(copy.read_text())["images"]
    assert {i["name"] for i in images} == images_of(manifests())
    assert all(i["newName"] == f"registry.example.org/weir/{i['name']}" for i in images)
    assert all(i["newTag"] == "v1" for i in images)
