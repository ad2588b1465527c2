"""The objects around a driver: its rights, its disruption budget, and names that the API server takes."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from weir_operator.kube import names
from weir_operator.kube.access import build_role_binding_spec, build_role_spec, build_service_account_spec
from weir_operator.kube.budget import build_disruption_budget_spec
from weir_operator.kube.driver_pod import Driver, DriverTemplate, build_driver_pod_spec
from weir_operator.kube.owner_references import OwnerReference

OWNER = OwnerReference("delays", "0e9a")


def test_a_driver_may_touch_one_lease_and_nothing_else() -> None:
    role = build_role_spec("flights", "delays-f1", "flights/delays", OWNER)
    (rule,) = role["rules"]
    assert rule == {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": ["delays-f1"],
        "verbs": ["get", "update", "watch"],
    }


def test_the_role_is_bound_to_the_account_that_the_pod_runs_under() -> None:
    account = build_service_account_spec("flights", "delays-f1", "flights/delays", OWNER)
    assert account["automountServiceAccountToken"] is False
    own = build_role_binding_spec("flights", "delays-f1", "flights/delays", OWNER)
    assert own["subjects"] == [{"kind": "ServiceAccount", "name": "delays-f1", "namespace": "flights"}]
    named = build_role_binding_spec("flights", "delays-f1", "flights/delays", OWNER, account="lake")
    assert named["subjects"][0]["name"] == "lake"
    assert named["roleRef"]["name"] == "delays-f1"


def test_the_budget_selects_the_fragments_drivers_of_every_epoch() -> None:
    budget = build_disruption_budget_spec("flights", "delays-f1", "flights/delays", OWNER)
    assert budget["spec"]["minAvailable"] == 1
    assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    labels = budget["spec"]["selector"]["matchLabels"].items()
    for epoch in (1, 2):
        driver = Driver("flights", "delays-f1", epoch, "n1", "flights/delays", "{}", "b", 1, 1, OWNER)
        assert labels <= build_driver_pod_spec(driver, DriverTemplate("image"))["metadata"]["labels"].items()


@given(st.text(min_size=1, max_size=200), st.integers(1, 999_999_999))
def test_any_fragments_name_becomes_a_label(fragment: str, epoch: int) -> None:
    if not re.search("[a-z0-9]", fragment.rsplit("/", 1)[-1].lower()):
        return  # nothing of the name is left: no fragment is called so
    name = names.pod_name(fragment, epoch)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)
    assert len(name) <= 63


@given(
    st.lists(
        st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,80}", fullmatch=True), min_size=2, max_size=2, unique=True
    )
)
def test_two_fragments_never_share_a_name(pair: list[str]) -> None:
    first, second = pair
    assert names.object_name(first) != names.object_name(second)
