"""How large a Placement may be, and what is said of one that is larger."""

from __future__ import annotations

import pytest
from weir_operator.controller.decision import WritePlacement
from weir_operator.controller.ports import Refused

from tests.api_server.scene import ApiScene

MIB = 2**20


@pytest.mark.parametrize("size", [1.6, 2.5, 3.5])
def test_a_placement_that_is_too_large_to_be_stored_is_refused_with_size_and_limit(
    scene: ApiScene, size: float
) -> None:
    """By etcd, by etcd's client in the API server, and by the API server itself."""
    scene.until(lambda: scene.of("Placement"))
    spec = {"revision": 2, "fragments": [], "plan": {"text": "x" * int(size * MIB)}}
    with pytest.raises(Refused) as refused:
        scene.cluster.write_placement(WritePlacement(f"{scene.target.namespace}/q", spec, {}))
    assert f"{size:.2f} MiB" in str(refused.value)
    assert "1.5 MiB" in str(refused.value)
    assert "Divide the query" in str(refused.value)


def test_one_of_a_mebibyte_is_stored(scene: ApiScene) -> None:
    scene.until(lambda: scene.of("Placement"))
    spec = {"revision": 2, "fragments": [], "plan": {"text": "x" * MIB}}
    scene.cluster.write_placement(WritePlacement(f"{scene.target.namespace}/q", spec, {}))
    assert scene.of("Placement")["spec"]["revision"] == 2
