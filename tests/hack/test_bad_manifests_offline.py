"""What the API server must refuse in the e2e test, the command line refuses with the same field's path."""

from __future__ import annotations

import pytest
from weir_operator.kube.driver_pod import SITE
from weir_operator.manifests.objects import from_raw
from weir_operator.manifests.parse import parse
from weir_operator.manifests.problem import build

from tests.e2e.test_bad_manifests import GRAPH, MAY_COME, POLICY, QUERY, REFUSED, STALLED, STREAM
from tests.manifests.scene import node


@pytest.mark.parametrize("what", REFUSED)
def test_the_field_is_named(what: str) -> None:
    manifest, path = REFUSED[what]
    assert any(path in str(finding) for finding in parse(manifest)[1])


@pytest.mark.parametrize("manifest", [STREAM, QUERY, GRAPH, POLICY], ids=lambda m: m["kind"])
def test_what_they_were_made_from_is_good(manifest: dict[str, object]) -> None:
    assert parse(manifest)[1] == []


@pytest.mark.parametrize("what", STALLED)
def test_what_only_the_operator_can_see_is_told_in_the_words_that_the_e2e_test_expects(what: str) -> None:
    manifest, begin = STALLED[what]
    objects, findings = from_raw([node("n", "newyork"), STREAM, manifest])
    (finding,) = (*findings, *build(objects, site=SITE).findings)
    assert finding.message.startswith(begin)
    assert finding.reason == ("ReferenceNotFound" if what in MAY_COME else "Invalid")
