"""What the API server will refuse again is told apart from what passes by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from weir_operator.controller.decision import HandOver, Protect, WritePlacement, WriteStatus
from weir_operator.controller.ports import Gone, Refused
from weir_operator.kube.api import ApiError, ObjectGone
from weir_operator.kube.cluster import KubernetesCluster

from tests.kube.memory import Memory
from tests.kube.test_cluster import placed

PLACEMENT = WritePlacement("a/q", {"revision": 2, "fragments": []}, {"ready": "1/1"})
WRITES: dict[str, Callable[[KubernetesCluster], None]] = {
    "Placement": lambda cluster: cluster.write_placement(PLACEMENT),
    "Lease": lambda cluster: cluster.apply(HandOver("f1", 3)),
    "PodDisruptionBudget": lambda cluster: cluster.apply(Protect("f1", "a/q", True)),
    "StreamQuery": lambda cluster: cluster.write_status(WriteStatus("StreamQuery", "a", "q", {})),
}


@pytest.mark.parametrize("kind", WRITES)
@pytest.mark.parametrize("status", [400, 403, 413, 422])
def test_a_write_that_the_api_server_refuses_is_refused_in_its_words(kind: str, status: int) -> None:
    memory = Memory()
    adapter = placed(memory)
    refuse(memory, kind, ApiError(status, "spec.x: Invalid value: 7"))
    with pytest.raises(Refused, match="Invalid value: 7"):
        WRITES[kind](adapter)


@pytest.mark.parametrize("kind", WRITES)
@pytest.mark.parametrize("error", [ApiError(409, "modified"), ApiError(500, "etcd")], ids=str)
def test_a_conflict_and_a_fault_of_the_server_are_tried_again(kind: str, error: ApiError) -> None:
    memory = Memory()
    adapter = placed(memory)
    refuse(memory, kind, error)
    with pytest.raises(ApiError, match=str(error)):
        WRITES[kind](adapter)


@pytest.mark.parametrize("kind", WRITES)
def test_in_a_namespace_that_ends_nothing_is_refused(kind: str) -> None:
    memory = Memory()
    adapter = placed(memory)
    refuse(memory, kind, ObjectGone(403, "because it is being terminated"))
    with pytest.raises(Gone):
        WRITES[kind](adapter)


def refuse(memory: Memory, kind: str, error: ApiError) -> None:
    def check(verb: str, of: str, namespace: str, name: str) -> None:
        if verb in ("apply", "merge", "create") and of == kind:
            raise error

    memory.refuse = check
