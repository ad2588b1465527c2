"""The flights example is valid for the CRDs' and the API's schemas."""

from __future__ import annotations

import pytest
import yaml

from tests.chart.conftest import Judge, Manifest
from tests.flights.kustomized import manifests

CUSTOM = {"Stream", "StreamQuery", "InputProfile", "PlacementPolicy", "NetworkTopology"}


@pytest.fixture(name="manifests")
def kustomized_manifests() -> list[Manifest]:
    return manifests()


def test_every_object_is_valid_for_the_schemas(manifests: list[Manifest], kubeconform: Judge) -> None:
    assert {m["kind"] for m in manifests} >= CUSTOM
    process = kubeconform(yaml.safe_dump_all(manifests))
    assert process.returncode == 0, process.stdout
    assert f"Valid: {len(manifests)}, Invalid: 0, Errors: 0, Skipped: 0" in process.stdout


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
    process = kubeconform(yaml.safe_dump(wrong))
    assert process.returncode != 0
    assert field in process.stdout
