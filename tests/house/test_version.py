"""Weir's version is written in weir_operator; chart, package and changelog agree with it."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from weir_operator import __version__
from weir_operator.cli.app import run

ROOT = Path(__file__).parents[2]


def test_the_chart_and_the_images_that_it_names_are_of_this_version() -> None:
    chart = yaml.safe_load((ROOT / "charts/weir/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    values = yaml.safe_load((ROOT / "charts/weir/values.yaml").read_text())
    assert [values["image"][name]["tag"] for name in ("operator", "runtime")] == ["", ""]  # appVersion
    assert f"weir-{__version__}.tgz" in (ROOT / "charts/weir/README.md").read_text()


def test_the_package_takes_it_from_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "weir_operator.__version__"}


def test_the_command_line_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run({}, ["--version"]) == 0
    assert capsys.readouterr().out == f"weir {__version__}\n"


def test_the_changelog_begins_with_it_or_with_what_comes_next() -> None:
    sections = re.findall(
        r"^## \[(.+)\] - (Unreleased|\d{4}-\d{2}-\d{2})$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    assert __version__ in [version for version, _ in sections]
    assert [version for version, date in sections if date == "Unreleased"] in ([], [sections[0][0]])


def test_the_kinds_have_the_one_version_that_docs_promise_for() -> None:
    for file in (ROOT / "crds").glob("*.yaml"):
        versions = yaml.safe_load(file.read_text())["spec"]["versions"]
        assert [(v["name"], v["served"], v["storage"]) for v in versions] == [("v1alpha1", True, True)]
    assert "has one version, `v1alpha1`" in (ROOT / "docs/versions.md").read_text()


def test_the_licence_is_one() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"] == "Apache-2.0"
    chart = yaml.safe_load((ROOT / "charts/weir/Chart.yaml").read_text())
    assert chart["annotations"]["artifacthub.io/license"] == "Apache-2.0"
