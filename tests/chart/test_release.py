"""`make release`: the same files for the same commit, without network or registry once its tools exist."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from weir_operator import __version__

from tests.chart.conftest import CHART, REPOSITORY, run

OFFLINE = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
    "PIP_NO_INDEX": "1",
    "GOPROXY": "off",
}
DIGESTS = {
    name: f"sha256:{hashlib.sha256(name.encode()).hexdigest()}" for name in ("weir-operator", "weir-runtime")
}


def module(name: str) -> ModuleType:
    """One of hack/release that needs no more than the environment has."""
    spec = importlib.util.spec_from_file_location(f"release_{name}", REPOSITORY / f"hack/release/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def release(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(REPOSITORY / "hack/release/release"), *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    process = release("--version", __version__, "--out", str(folder))
    assert process.returncode == 0, process.stderr
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_same_commit_gives_the_same_files_also_offline(rehearsal: Path, tmp_path: Path) -> None:
    process = release("--version", __version__, "--out", str(tmp_path), **OFFLINE)
    assert process.returncode == 0, process.stderr
    assert content(tmp_path) == content(rehearsal)


def test_checksums_are_of_all_files(rehearsal: Path) -> None:
    lines = (rehearsal / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = content(rehearsal)
    del files["SHA256SUMS"]
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert sums.keys() == {
        f"weir-{__version__}.tgz",
        f"weir-olm-{__version__}.tgz",
        f"weir-{__version__}.intoto.json",
        f"weir-operator-{__version__}.cdx.json",
        f"weir-runtime-{__version__}.cdx.json",
    }


def test_the_package_renders_as_the_tree_does(rehearsal: Path, text: Callable[..., str]) -> None:
    package = str(rehearsal / f"weir-{__version__}.tgz")
    process = run("helm", "template", "weir", package, "-n", "weir-system", "--kube-version", "1.34.0")
    assert process.stdout == text()
    shown = yaml.safe_load(run("helm", "show", "chart", package).stdout)
    assert (shown["version"], shown["appVersion"]) == (__version__, __version__)
    assert "Apache License" in subprocess.run(
        ["tar", "xzOf", package, "weir/LICENSE"], check=True, capture_output=True, text=True
    ).stdout  # fmt: skip


def test_the_package_says_to_artifact_hub_what_is_in_it(rehearsal: Path) -> None:
    package = str(rehearsal / f"weir-{__version__}.tgz")
    notes = yaml.safe_load(run("helm", "show", "chart", package).stdout)["annotations"]
    assert notes["artifacthub.io/operator"] == "true"
    images = yaml.safe_load(notes["artifacthub.io/images"])
    assert images == [{"name": name, "image": f"{name}:{__version__}"} for name in DIGESTS]
    kinds = {crd["name"] for crd in yaml.safe_load(notes["artifacthub.io/crds"])}
    assert kinds == {file.stem for file in (REPOSITORY / "crds").glob("*.yaml")}
    changes = yaml.safe_load(notes["artifacthub.io/changes"])
    assert {change["kind"] for change in changes} <= {"added", "changed", "removed", "fixed", "security"}
    assert any("exchange_kind" in change["description"] for change in changes)


def test_a_bill_has_what_the_image_installs_with_hashes(rehearsal: Path) -> None:
    bills = {name: json.loads((rehearsal / f"{name}-{__version__}.cdx.json").read_text()) for name in DIGESTS}
    for name, bill in bills.items():
        assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
        assert bill["metadata"]["component"]["name"] == name
        assert bill["metadata"]["component"]["version"] == __version__
        for part in bill["components"]:
            assert part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}"
            assert part["externalReferences"][0]["hashes"]
    names = {name: {part["name"] for part in bill["components"]} for name, bill in bills.items()}
    assert {"kopf", "kubernetes", "ortools"} <= names["weir-operator"] - names["weir-runtime"]
    assert {"pyspark", "kafka-python"} <= names["weir-runtime"] - names["weir-operator"]


def test_the_provenance_is_about_these_files_and_this_commit(rehearsal: Path) -> None:
    statement = json.loads((rehearsal / f"weir-{__version__}.intoto.json").read_text())
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    for subject in statement["subject"]:
        data = (rehearsal / subject["name"]).read_bytes()
        assert subject["digest"] == {"sha256": hashlib.sha256(data).hexdigest()}
    assert len(statement["subject"]) == 4
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=REPOSITORY, text=True).strip()
    materials = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert {"name": "source", "digest": {"gitCommit": head}} in materials


def test_a_key_signs_it_and_a_change_is_noticed(tmp_path: Path) -> None:
    key, public, out = tmp_path / "key.pem", tmp_path / "public.pem", tmp_path / "out"
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(key)],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(public)], check=True)
    process = release("--version", __version__, "--out", str(out), "--key", str(key))
    assert process.returncode == 0, process.stderr
    envelope = json.loads((out / f"weir-{__version__}.intoto.jsonl").read_text())
    payload, (signature,) = base64.b64decode(envelope["payload"]), envelope["signatures"]
    kind = envelope["payloadType"].encode()
    (tmp_path / "signature").write_bytes(base64.b64decode(signature["sig"]))

    def verified(payload: bytes) -> bool:
        command = [
            "openssl",
            "dgst",
            "-sha256",
            "-verify",
            str(public),
            "-signature",
            str(tmp_path / "signature"),
        ]
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
        return subprocess.run(command, input=signed, capture_output=True, check=False).returncode == 0

    assert verified(payload)
    assert not verified(payload.replace(b"weir-", b"wier-"))
    assert json.loads(payload)["subject"]


def test_a_version_that_is_not_the_trees_is_refused(tmp_path: Path) -> None:
    process = release("--version", "9.9.9", "--out", str(tmp_path))
    assert process.returncode == 1
    assert f"VERSION: 9.9.9 is not this tree's {__version__}" in process.stderr
    assert "CHANGELOG.md: no section '## [9.9.9]" in process.stderr
    assert not list(tmp_path.iterdir())


def test_with_a_registry_the_chart_takes_its_images_by_digest(
    text: Callable[..., str], tmp_path: Path
) -> None:
    values = module("chart").with_digests((CHART / "values.yaml").read_text(), "r.example/weir", DIGESTS)
    (tmp_path / "values.yaml").write_text(values)
    process = run(
        "helm",
        "template",
        "weir",
        str(CHART),
        "--kube-version",
        "1.34.0",
        "-f",
        str(tmp_path / "values.yaml"),
    )
    for name, digest in DIGESTS.items():
        assert f"r.example/weir/{name}@{digest}" in process.stdout
    changed = [
        line for line in values.splitlines() if line not in (CHART / "values.yaml").read_text().splitlines()
    ]
    assert len(changed) == 3


def test_changes_are_the_points_of_the_versions_section() -> None:
    log = (
        "# Changelog\n\n## [2.0.0] - 2026-02-01\n\n"
        "### Fixed\n\n- Two\n  lines of `code`.\n- **Bold.** More.\n\n"
        "## [1.0.0] - 2026-01-01\n\n### Added\n\n- Old.\n"
    )
    chart = module("chart")
    assert chart.changes(log, "2.0.0") == [
        {"kind": "fixed", "description": "Two lines of code."},
        {"kind": "fixed", "description": "Bold. More."},
    ]
    with pytest.raises(AssertionError, match="Mended is not one of"):
        chart.changes(log.replace("Fixed", "Mended"), "2.0.0")


@pytest.mark.usefixtures("rehearsal")  # has installed the tools
def test_what_a_built_image_has_besides_becomes_components() -> None:
    tools = Path(os.environ.get("WEIR_CACHE", Path.home() / ".cache/weir")) / "release/bin/python"
    listing = "deb libc6 2.36-9+deb12u1 amd64\njar " + "a" * 64 + " /opt/jars/x.jar\n"
    code = "import json, sys; from bill import components; print(json.dumps(components(sys.stdin.read())))"
    process = subprocess.run(
        [str(tools), "-c", code], input=listing, cwd=REPOSITORY / "hack/release", check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    parts: list[dict[str, Any]] = json.loads(process.stdout)
    assert parts[0]["purl"] == "pkg:deb/debian/libc6@2.36-9%2Bdeb12u1?arch=amd64"
    assert parts[1]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
