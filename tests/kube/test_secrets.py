"""Which Secrets a fragment's pods mount: those that its sources, its sink and its flows name, each once."""

from __future__ import annotations

from dataclasses import replace

from weir_operator.api.policy import Exchange
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings
from weir_operator.kube.fragment import secrets_in
from weir_operator.manifests.site import Site
from weir_placement.fragments import Layout

from tests.controller.test_fragments import ENDS, cut_it, plan
from tests.manifests.scene import NODES, obj, stream

LOGIN = {"uri": "s3://lake/x", "s3": {"secretRef": "login"}}


def test_keys_of_the_store_in_which_flows_lie() -> None:
    reached = {"region": "eu", "secretRef": "login", "caSecretRef": "ca"}
    flows = Exchange.model_validate({"files": {"uri": "s3://weir/prod", "s3": reached}}).flows()
    specs = cut_it(plan("n1", "n2", "n2"), replace(ENDS, flows=flows))
    assert {secrets_in(*spec.connectors) for spec in specs.values()} == {("ca", "login")}
    assert {secrets_in(*spec.connectors) for spec in cut_it(plan("n1", "n2", "n2")).values()} == {()}


def test_keys_of_a_source_and_a_sink_in_one_store() -> None:
    query = obj(
        "StreamQuery", "q", {"sql": "SELECT a.x FROM a", "sink": {"files": {**LOGIN, "uri": "s3://lake/y"}}}
    )
    objects = (*NODES, stream("a", source={"files": LOGIN}), query)
    build = DesiredStateBuilder(site=Site(files="/var/lib/weir/files"))
    (group,) = build(ObservedState(0.0, objects), Settings(Layout("/d"))).groups
    ends = group.queries["default/q"].ends
    assert secrets_in(ends.sources["a"], ends.sink.options) == ("login",)
