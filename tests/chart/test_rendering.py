"""What the chart renders: valid for helm, for the API's own schemas, for its values' schema."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from weir_operator.kube import names

from tests.chart.conftest import CHART, EVERYTHING, REPOSITORY, Judge, Render, run

DIGEST = "sha256:" + "0" * 64


def test_helm_lint_finds_nothing_wrong() -> None:
    process = run("helm", "lint", "--strict", str(CHART))
    assert process.returncode == 0, process.stdout


@pytest.mark.parametrize(
    "settings",
    [
        (),
        EVERYTHING,
        ("watchNamespaces={a,b}", "crds.keep=false", "networkPolicy.enabled=true"),
        (*EVERYTHING, "webhook.certificate.certManager.enabled=true"),
    ],
    ids=["defaults", "all", "namespaces", "cert-manager"],
)
def test_every_object_is_valid_for_the_schemas_of_the_api(
    text: Callable[..., str], kubeconform: Judge, settings: tuple[str, ...]
) -> None:
    foreign = "PodMonitor,ServiceMonitor,PrometheusRule"  # kinds of the Prometheus operator
    process = kubeconform(text(*settings), skipped=foreign)
    assert process.returncode == 0, process.stdout
    assert "Invalid: 0, Errors: 0" in process.stdout


def test_it_renders_the_same_twice(text: Callable[..., str]) -> None:
    """Otherwise Argo CD would find a difference at each look."""
    assert text(*EVERYTHING) == text(*EVERYTHING)


def test_labels_are_valid_in_a_chart_that_is_built_from_a_commit(tmp_path: Path) -> None:
    """Flux appends `+<commit>` to the version, which no label may have."""
    chart = tmp_path / "weir"
    shutil.copytree(CHART, chart)
    file = chart / "Chart.yaml"
    commit = "+b6043f553758"
    file.write_text(re.sub(r"^(version: .*)", rf"\1{commit}", file.read_text(), flags=re.M))
    process = run(
        "helm",
        "template",
        "weir",
        str(chart),
        "--kube-version=1.34.0",
        *(f"--set={setting}" for setting in EVERYTHING),
    )
    assert process.returncode == 0, process.stderr
    labels = [
        (o["metadata"]["name"], name, value)
        for o in yaml.safe_load_all(process.stdout)
        for name, value in o["metadata"].get("labels", {}).items()
    ]
    assert [value for _, name, value in labels if name == "helm.sh/chart"]
    label = re.compile(r"([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?", re.ASCII)
    assert not [line for line in labels if not label.fullmatch(line[2])]


def test_crds_are_the_generated_ones_and_are_kept(render: Render) -> None:
    generated = {}
    for file in (REPOSITORY / "crds").glob("*.yaml"):
        crd = yaml.safe_load(file.read_text())
        generated[crd["metadata"]["name"]] = crd
    rendered = {o["metadata"]["name"]: o for o in render() if o["kind"] == "CustomResourceDefinition"}
    assert rendered.keys() == generated.keys()
    for name, crd in rendered.items():
        assert crd["spec"] == generated[name]["spec"]
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert not any(o["kind"] == "CustomResourceDefinition" for o in render("crds.install=false"))


def test_no_custom_object_is_in_the_chart(render: Render) -> None:
    assert not [o for o in render(*EVERYTHING) if o["apiVersion"].startswith("weir.dev")]


def test_images_by_digest_behind_a_registry(render: Render) -> None:
    settings = [f"image.{name}.digest={DIGEST}" for name in ("operator", "runtime")]
    objects = render(
        *settings, "global.imageRegistry=r.example/mirror/", "global.imagePullSecrets[0].name=login"
    )
    pod = next(o for o in objects if o["kind"] == "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == f"r.example/mirror/weir-operator@{DIGEST}"
    runtime = next(e["value"] for e in container["env"] if e["name"] == "WEIR_RUNTIME_IMAGE")
    assert runtime == f"r.example/mirror/weir-runtime@{DIGEST}"
    assert pod["imagePullSecrets"] == [{"name": "login"}]


def test_the_operator_is_restricted_and_doubled(render: Render) -> None:
    deployment = next(o for o in render() if o["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["replicas"] == 2
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    budget = next(o for o in render() if o["kind"] == "PodDisruptionBudget")
    assert budget["spec"]["selector"]["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]


def test_a_driver_and_its_executors_reach_each_other(render: Render) -> None:
    objects = render("networkPolicy.enabled=true", "watchNamespaces={a}")
    (policy,) = [o for o in objects if o["kind"] == "NetworkPolicy" and o["metadata"]["namespace"] == "a"]
    open_to_all, among_us = policy["spec"]["ingress"]
    assert [p["port"] for p in open_to_all["ports"]] == [names.RUNTIME_PORT]
    assert [p["port"] for p in among_us["ports"]] == list(names.SPARK_PORTS.values())
    (others,) = among_us["from"]
    mine = policy["spec"]["podSelector"]
    assert others["podSelector"]["matchLabels"] == mine["matchLabels"]
    assert roles(others["podSelector"]) == {"driver", "executor"}
    assert roles(mine) == {"driver", "executor", "host"}, "a host has no executors"


def roles(selector: dict[str, Any]) -> set[str]:
    (expression,) = selector["matchExpressions"]
    assert expression["key"] == names.ROLE
    return set(expression["values"])


@pytest.mark.parametrize(
    "setting",
    ["replicas=0", "replica=2", "image.runtime.digest=latest", "image.operator.pullPolicy=Sometimes",
     "prometheus.url=prometheus:9090", "prometheusRule.runbookUrl=", "metrics.podMonitor.interval=soon",
     "crds.keep=7"],
)  # fmt: skip
def test_a_wrong_value_is_refused(setting: str) -> None:
    process = run("helm", "template", "weir", str(CHART), "--kube-version", "1.34.0", f"--set={setting}")
    assert process.returncode != 0
    assert setting.split("=")[0].rsplit(".")[-1].split("[")[0] in process.stderr


def test_rules_fire_when_they_should_and_each_has_a_runbook(render: Render, tmp_path: Path) -> None:
    rule = next(o for o in render(*EVERYTHING) if o["kind"] == "PrometheusRule")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule["spec"]))
    (tmp_path / "test.yaml").write_text((REPOSITORY / "tests/chart/rules_test.yaml").read_text())
    process = run("promtool", "test", "rules", str(tmp_path / "test.yaml"))
    assert process.returncode == 0, process.stdout + process.stderr
    tested = yaml.safe_load((tmp_path / "test.yaml").read_text())["tests"]
    fired = {c["alertname"] for t in tested for c in t["alert_rule_test"] if c["exp_alerts"]}
    alerts = {r["alert"]: r for g in rule["spec"]["groups"] for r in g["rules"]}
    assert fired == alerts.keys()
    for name, alert in alerts.items():
        page = REPOSITORY / alert["annotations"]["runbook"]
        assert page.read_text().startswith(f"# {name}\n")


def test_the_pages_of_the_alerts_may_be_elsewhere(render: Render) -> None:
    base = "https://pages.example.org/weir/runbooks"
    objects = render("prometheusRule.enabled=true", f"prometheusRule.runbookUrl={base}/")
    (rule,) = [o for o in objects if o["kind"] == "PrometheusRule"]
    for alert in rule["spec"]["groups"][0]["rules"]:
        assert alert["annotations"]["runbook_url"] == f"{base}/{alert['alert']}.md"


def test_the_budgets_go_before_the_operator_does(render: Render) -> None:
    """By a hook that runs as the operator does, in the same place."""
    objects = render("nodeSelector.a=b")
    (hook,) = [o for o in objects if o["kind"] == "Job"]
    (operator,) = [o for o in objects if o["kind"] == "Deployment"]
    assert hook["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"
    theirs, its = operator["spec"]["template"]["spec"], hook["spec"]["template"]["spec"]
    for field in ("serviceAccountName", "nodeSelector", "securityContext"):
        assert its[field] == theirs[field]
    assert its["containers"][0]["image"] == theirs["containers"][0]["image"]


def test_a_release_has_the_class_that_its_policies_name(render: Render) -> None:
    for settings, expected in (((), ""), (("operatorClass=blue",), "blue")):
        (deployment,) = [o for o in render(*settings) if o["kind"] == "Deployment"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert {"name": "WEIR_OPERATOR_CLASS", "value": expected} in container["env"]
