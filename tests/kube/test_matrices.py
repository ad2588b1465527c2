"""A topology's matrix comes from a ConfigMap beside the operator, and from nowhere else."""

from __future__ import annotations

from typing import Any, cast

import pytest
from weir_operator.api.topology import Matrix
from weir_operator.kube.api import Api
from weir_operator.kube.matrices import FRESH_SECONDS, Matrices
from weir_operator.manifests.objects import from_raw

from tests.kube.manual_clock import ManualClock


class OneMap:
    reads = 0
    text = "0\t3\n3\t0\n"

    def get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        assert (kind, namespace) == ("ConfigMap", "weir-system")
        self.reads += 1
        meta = {"namespace": namespace, "name": name}
        return {"metadata": meta, "data": {"rtt": self.text}} if name == "rtt" else None


def topology(**matrix: Any) -> dict[str, Any]:
    return {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "NetworkTopology",
        "metadata": {"name": "t"},
        "spec": {"matrix": {"nodes": ["a", "b"], **matrix}},
    }


def in_map(namespace: str, name: str = "rtt") -> dict[str, Any]:
    return topology(configMapRef={"namespace": namespace, "name": name, "key": "rtt"})


def read(matrices: Matrices, given: dict[str, Any]) -> bytes:
    objects, findings = from_raw([given, *matrices.objects([given])])
    assert not findings
    matrix = objects.topologies["t"].spec.matrix
    assert isinstance(matrix, Matrix)
    return matrices.readers(objects)["t"](matrix)


def test_a_config_map_beside_the_operator_is_read_once_in_a_while() -> None:
    api, clock = OneMap(), ManualClock(1000.0)
    matrices = Matrices(cast(Api, api), "weir-system", clock)
    assert read(matrices, in_map("weir-system")) == b"0\t3\n3\t0\n"
    api.text = "0\t5\n5\t0\n"
    assert read(matrices, in_map("weir-system")) == b"0\t3\n3\t0\n"
    assert api.reads == 1
    clock.now += FRESH_SECONDS
    assert read(matrices, in_map("weir-system")) == b"0\t5\n5\t0\n"


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (in_map("elsewhere"), "namespace"),
        (in_map("weir-system", "other"), "no ConfigMap weir-system/other"),
        (topology(file="/etc/passwd"), "command line"),
    ],
)
def test_what_is_not_read_says_why(given: dict[str, Any], word: str) -> None:
    with pytest.raises(KeyError, match=word):
        read(Matrices(cast(Api, OneMap()), "weir-system", ManualClock(1000.0)), given)
