"""The flights example is valid for the CRDs' and the API's schemas; its images can come from a registry."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.chart.conftest import REPOSITORY, Judge, Manifest

FLIGHTS = REPOSITORY / "examples" / "flights"
CUSTOM = {"Stream", "StreamQuery", "InputProfile", "PlacementPolicy", "NetworkTopology"}


@pytest.fixture
def manifests() -> list[Manifest]:
    """What `kubectl kustomize` makes of the example, but for names of namespaces and images."""
    kustomization = yaml.safe_load((FLIGHTS / "kustomization.yaml").read_text())
    found = [
        manifest
        for file in kustomization["resources"]
        for manifest in yaml.safe_load_all((FLIGHTS / file).read_text())
    ]
    for patch in kustomization["patches"]:
        (wanted,) = [
            m for m in found if {"kind": m["kind"], "name": m["metadata"]["name"]} == patch["target"]
        ]
        for change in yaml.safe_load(patch["patch"]):
            _, part, field = change["path"].split("/")
            assert change["op"] == "replace"
            assert field in wanted[part]
            wanted[part][field] = change["value"]
    return found


def images_of(manifests: list[Manifest]) -> set[str]:
    """Names of the images that pods of theirs run."""
    pods = [m["spec"]["template"]["spec"] for m in manifests if m["kind"] in ("Deployment", "Job")]
    return {container["image"].rsplit(":", 1)[0] for pod in pods for container in pod["containers"]}


def test_every_object_is_valid_for_the_schemas(manifests: list[Manifest], kubeconform: Judge) -> None:
    assert {m["kind"] for m in manifests} >= CUSTOM
    done = kubeconform(yaml.safe_dump_all(manifests))
    assert done.returncode == 0, done.stdout
    assert f"Valid: {len(manifests)}, Invalid: 0, Errors: 0, Skipped: 0" in done.stdout


@pytest.mark.parametrize(
    ("kind", "part", "field", "value"),
    [
        ("StreamQuery", "spec", "sqll", "SELECT"),
        ("StreamQuery", "spec", "sink", {"kafka": {"bootstrapServer": "kafka:9092", "topic": "t"}}),
        ("Stream", "spec", "tupleBytes", [84]),
        ("PlacementPolicy", "spec", "objective", "least-money"),
        ("Service", "spec", "portz", []),
    ],
)
def test_the_schemas_really_refuse(
    manifests: list[Manifest], kubeconform: Judge, kind: str, part: str, field: str, value: object
) -> None:
    wrong = next(m for m in manifests if m["kind"] == kind)
    wrong[part][field] = value
    done = kubeconform(yaml.safe_dump(wrong))
    assert done.returncode != 0
    assert field in done.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/kubernetes.md"])
def test_the_documented_line_points_every_image_at_a_registry(
    manifests: list[Manifest], tmp_path: Path, page: str
) -> None:
    (line,) = re.findall(
        r"^    (sed -i .* examples/flights/kustomization\.yaml)$", (REPOSITORY / page).read_text(), re.M
    )
    copy = tmp_path / "examples" / "flights" / "kustomization.yaml"
    copy.parent.mkdir(parents=True)
    copy.write_text((FLIGHTS / "kustomization.yaml").read_text())
    subprocess.run(["bash", "-c", line], check=True, cwd=tmp_path)
    found = yaml.safe_load(copy.read_text())["images"]
    assert {i["name"] for i in found} == images_of(manifests)
    assert all(i["newName"] == f"registry.example.org/weir/{i['name']}" for i in found)
    assert all(i["newTag"] == "v1" for i in found)
