"""Helm packs only what is inside the chart's folder, so the CRDs are copied there."""

from __future__ import annotations

from tests.chart.conftest import CHART, REPOSITORY


def test_the_charts_crds_are_those_of_the_repository() -> None:
    ours = {f.name: f.read_text() for f in (REPOSITORY / "crds").glob("*.yaml")}
    copies = {f.name: f.read_text() for f in (CHART / "files/crds").glob("*.yaml")}
    assert copies == ours, "run: cp crds/*.yaml charts/weir/files/crds/"
