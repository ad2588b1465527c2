"""Whatever a status says, its writers' output is accepted after whatever it said before, and stored whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weir_operator.api.fit import fit
from weir_operator.api.kinds import KINDS
from weir_operator.controller.decision import WritePlacement, WriteStatus
from weir_operator.controller.record import Record
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.settings import OperatorSettings

from tests.api.structural import schema_of
from tests.api_server.api_under_test import CLUSTER_WIDE, ApiUnderTest, manifest
from tests.controller.test_any_broken_object import broken_ones
from tests.controller.test_fitting import of_schema

SPECS = {raw["kind"]: raw["spec"] for raw in broken_ones() if raw["kind"] in {kind.name for kind in KINDS}}
"""A valid one of each kind that people write."""
EXAMPLES = settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)


def asked(target: ApiUnderTest, kind: str) -> dict[str, Any]:
    return manifest(kind, "" if kind in CLUSTER_WIDE else target.namespace, "q", spec=SPECS[kind])


def adapter(target: ApiUnderTest) -> KubernetesCluster:
    return KubernetesCluster(target.api, OperatorSettings(watch_namespaces=(target.namespace,)))


@pytest.mark.parametrize("kind", SPECS)
@given(data=st.data())
@EXAMPLES
def test_of_users_objects(target: ApiUnderTest, kind: str, data: Any) -> None:
    thing = asked(target, kind)
    target.admin.apply(thing, "user")
    namespace = thing["metadata"].get("namespace", "")
    status = fit(kind, "status", data.draw(of_schema(schema_of(kind, "status"))))
    adapter(target).write_status(WriteStatus(kind, namespace, "q", status))
    stored = target.admin.get(kind, namespace, "q") or {}
    assert comparable(stored["status"]) == comparable({"observedGeneration": -1, **status})


@given(data=st.data())
@EXAMPLES
def test_of_placements(target: ApiUnderTest, data: Any) -> None:
    """As the record writes them: an empty map is left out, as is all that is None."""
    target.admin.apply(asked(target, "StreamQuery"), "user")
    drawn = data.draw(of_schema(schema_of("Placement", "status")))
    status = Record(f"{target.namespace}/q").with_status(**drawn).status
    cluster = adapter(target)
    cluster.observe()
    spec = {"revision": 1, "fragments": []}
    cluster.write_placement(WritePlacement(f"{target.namespace}/q", spec, {**status, "ready": "1/1"}))
    stored = target.admin.get("Placement", target.namespace, "q") or {}
    assert comparable(stored["status"]) == comparable({**status, "ready": "1/1"})


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60), more=st.integers(0, 400))
@EXAMPLES
def test_of_any_words(target: ApiUnderTest, text: str, more: int) -> None:
    """Of pods, planners and people."""
    target.admin.apply(asked(target, "StreamQuery"), "user")
    message = text * more
    ready = {"type": "Ready", "status": "False", "reason": "Failed", "message": message}
    status = fit("StreamQuery", "status", {"conditions": [ready], "nodes": message})
    adapter(target).write_status(WriteStatus("StreamQuery", target.namespace, "q", status))
    stored = target.admin.get("StreamQuery", target.namespace, "q") or {}
    assert stored["status"]["nodes"] == status["nodes"]
    assert stored["status"]["conditions"][0]["message"] == status["conditions"][0]["message"]


def comparable(value: Any) -> Any:
    """Without empty lists, which are as none: an empty keyed list is nobody's, and stays when it is applied
    no more. A large number without a fraction comes back as a whole one, rounded to what a float holds."""
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items() if item != []}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return float(value) if type(value) is int else value
