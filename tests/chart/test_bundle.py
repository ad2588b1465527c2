"""The OLM bundle is the chart in another form, with the same rights, and admits no executors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from weir_operator import __version__
from weir_operator.kube.settings import OperatorSettings

from tests.chart.conftest import CHART, ENVIRONMENT, REPOSITORY, Judge, Manifest, Render
from tests.chart.test_release import module
from tests.chart.test_rights import for_people, granted, listed

OLM_APPLIES = {
    *(
        "ClusterServiceVersion",
        "CustomResourceDefinition",
        "Secret",
        "ConfigMap",
        "Service",
        "ServiceAccount",
    ),
    *("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "NetworkPolicy", "PodDisruptionBudget"),
    *("PrometheusRule", "ServiceMonitor", "PodMonitor", "PriorityClass", "VerticalPodAutoscaler"),
}
"""pkg/lib/bundle/supported_resources.go of operator-registry v1.61.0, consoles left out."""


@pytest.fixture(scope="module", name="folder")
def written(tools: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "weir-olm"
    stream = {"apiVersion": "weir.dev/v1alpha1", "kind": "Stream", "metadata": {"name": "a"}}
    with pytest.MonkeyPatch.context() as shell:
        shell.setenv("PATH", ENVIRONMENT["PATH"])
        module("bundle").write_bundle(CHART, __version__, "2026-01-31T00:00:00Z", [stream], folder)
    return folder


@pytest.fixture(name="objects")
def manifests(folder: Path) -> list[Manifest]:
    return [yaml.safe_load(file.read_text()) for file in (folder / "manifests").iterdir()]


@pytest.fixture(name="version")
def cluster_service_version(objects: list[Manifest]) -> dict[str, Any]:
    (version,) = [o for o in objects if o["kind"] == "ClusterServiceVersion"]
    schema: dict[str, Any] = version
    return schema


def test_every_object_is_valid_and_of_a_kind_that_olm_applies(
    objects: list[Manifest], kubeconform: Judge
) -> None:
    assert {o["kind"] for o in objects} <= OLM_APPLIES
    process = kubeconform(yaml.safe_dump_all(objects))
    assert process.returncode == 0, process.stdout
    assert f"Valid: {len(objects)}, Invalid: 0, Errors: 0, Skipped: 0" in process.stdout


def test_the_schema_really_refuses(version: dict[str, Any], kubeconform: Judge) -> None:
    del version["spec"]["install"]["spec"]["deployments"][0]["spec"]["selector"]
    process = kubeconform(yaml.safe_dump(version))
    assert process.returncode != 0
    assert "selector" in process.stdout


def test_the_operator_is_the_charts_and_has_its_rights(
    version: dict[str, Any], objects: list[Manifest], render: Render
) -> None:
    chart = render()
    install = version["spec"]["install"]["spec"]
    (deployment,) = install["deployments"]
    (operator,) = [o for o in chart if o["kind"] == "Deployment"]
    theirs, ours = (spec["template"]["spec"] for spec in (operator["spec"], deployment["spec"]))
    (container,), (bundled,) = theirs.pop("containers"), ours.pop("containers")
    assert ours == theirs
    environment = {e["name"]: e for e in container.pop("env")}
    assert {e["name"]: e for e in bundled.pop("env")} == environment | {
        "WEIR_EXECUTORS": {"name": "WEIR_EXECUTORS", "value": "false"}
    }
    assert bundled == container
    assert not OperatorSettings.of_environment({"WEIR_EXECUTORS": "false"}).executors
    (everywhere,), (own,) = install["clusterPermissions"], install["permissions"]
    assert granted(everywhere) == listed("cluster") | listed("namespace")
    assert granted(own) == listed("own")
    assert {everywhere["serviceAccountName"], own["serviceAccountName"]} == {ours["serviceAccountName"]}
    assert for_people(objects) == for_people(chart)


def test_every_kind_is_owned_and_in_the_bundle(version: dict[str, Any], objects: list[Manifest]) -> None:
    names = {file.stem for file in (REPOSITORY / "crds").glob("*.yaml")}
    assert {crd["name"] for crd in version["spec"]["customresourcedefinitions"]["owned"]} == names
    assert {o["metadata"]["name"] for o in objects if o["kind"] == "CustomResourceDefinition"} == names
    assert json.loads(version["metadata"]["annotations"]["alm-examples"])[0]["kind"] == "Stream"


def test_names_and_annotations_are_those_that_tools_look_for(version: dict[str, Any], folder: Path) -> None:
    assert version["metadata"]["name"] == f"weir.v{version['spec']['version']}" == f"weir.v{__version__}"
    notes = yaml.safe_load((folder / "metadata/annotations.yaml").read_text())["annotations"]
    dockerfile = (folder / "bundle.Dockerfile").read_text()
    for name, value in notes.items():
        assert f"LABEL {name}={value}\n" in dockerfile
    for part in ("manifests", "metadata"):
        assert notes[f"operators.operatorframework.io.bundle.{part}.v1"] == f"{part}/"
        assert (folder / part).is_dir()


def test_what_a_bundle_has_no_place_for_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = module("bundle")
    unknown = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "m"}}
    monkeypatch.setattr(bundle, "rendered", lambda chart: [unknown])
    with pytest.raises(ValueError, match="no place for MutatingWebhookConfiguration m"):
        bundle.write_bundle(CHART, "1", "", [], tmp_path / "x")
