"""What the API server must refuse in the e2e test, the command line refuses with the same field's path."""

from __future__ import annotations

import pytest
from weir_operator.manifests.parse import parse

from tests.e2e.test_bad_manifests import GRAPH, POLICY, QUERY, REFUSED, STREAM


@pytest.mark.parametrize("what", REFUSED)
def test_the_field_is_named(what: str) -> None:
    manifest, path = REFUSED[what]
    assert any(path in str(finding) for finding in parse(manifest)[1])


@pytest.mark.parametrize("manifest", [STREAM, QUERY, GRAPH, POLICY], ids=lambda m: m["kind"])
def test_what_they_were_made_from_is_good(manifest: dict[str, object]) -> None:
    assert parse(manifest)[1] == []
