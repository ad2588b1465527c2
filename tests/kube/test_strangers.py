"""A name is no proof: what has the name of an object of Weir's, and was not made by it, is never deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_operator.controller.ports import Refused
from weir_operator.kube import names
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.executor_pod import build_executor_template
from weir_operator.kube.settings import OperatorSettings
from weir_operator.kube.sweeper import SWEEP_POD

from tests.kube.memory import Manifest, Memory
from tests.kube.test_cluster import labelled, placed, spec, start
from tests.kube.test_executor_pod import DRIVER, TEMPLATE

NEXT = replace(start(), spec=replace(spec(), epoch=2))


def stranger(name: str, **labels: str) -> Manifest:
    meta = {"namespace": "a", "name": name, "labels": labels}
    return {"kind": "Pod", "metadata": meta, "spec": {"containers": []}, "status": {"phase": "Failed"}}


@pytest.mark.parametrize("labels", [{}, {names.MANAGED_BY: "weir", names.FRAGMENT: "f1", names.EPOCH: "2"}])
def test_a_pod_that_has_a_drivers_name_is_not_replaced(labels: dict[str, str]) -> None:
    """Also where it has the labels, without the owner."""
    memory = Memory()
    adapter = placed(memory)
    memory.put(stranger("f1-e2", **labels))
    with pytest.raises(Refused, match=r"pod f1-e2 .* was not created by Weir"):
        adapter.apply(NEXT)
    assert "f1-e2" in memory.names("Pod")


def test_a_driver_of_another_build_is_replaced() -> None:
    memory = Memory()
    adapter = placed(memory)
    with pytest.raises(OSError, match="being replaced"):
        adapter.apply(replace(start(), build="b2"))


def test_a_pod_that_only_has_the_labels_of_a_sweep_is_left_alone() -> None:
    labels = {names.ROLE: "sweep"}
    theirs = labelled("Pod", "backup", labels, spec={"containers": []}, status={"phase": "Succeeded"})
    memory = Memory(theirs)
    KubernetesCluster(memory.api, OperatorSettings(), lambda: 1767225600.0).observe()
    assert memory.names("Pod") == {"backup"}


def test_a_pod_that_only_has_the_name_of_a_sweep_is_left_alone() -> None:
    memory = Memory(stranger(SWEEP_POD))
    adapter = KubernetesCluster(memory.api, OperatorSettings(), lambda: 1767225600.0)
    adapter.observe()
    adapter._sweeper.busy, adapter._sweeper._kept = frozenset({"a"}), {}
    assert adapter._sweeper.in_the_way("a", "f1")
    (left,) = memory.objects.values()
    assert "deletionTimestamp" not in left["metadata"]


def test_the_policys_labels_win_over_the_querys_on_executors_too() -> None:
    driver = replace(DRIVER, labels={"cost-centre": "theirs", "team": "ops"})
    labels = build_executor_template(driver, replace(TEMPLATE, labels={"cost-centre": "ours"}))
    assert labels["metadata"]["labels"]["cost-centre"] == "ours"
    assert labels["metadata"]["labels"]["team"] == "ops"
