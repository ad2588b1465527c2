"""Preconditions: a write over what was not read, or on another object of the same name."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.kube.api import ApiError

from tests.api_server.worlds import World, manifest


def lease(world: World, **meta: Any) -> dict[str, Any]:
    return manifest("Lease", world.namespace, "l", metadata=meta)


def refused(status: int) -> Any:
    """Of which status, and that nothing else is raised."""

    class Refused:
        def __enter__(self) -> None:
            self.raises = pytest.raises(ApiError)
            self.info = self.raises.__enter__()

        def __exit__(self, *error: Any) -> bool:
            suppressed = self.raises.__exit__(*error)
            assert self.info.value.status == status, self.info.value
            return bool(suppressed)

    return Refused()


def test_a_write_over_a_version_that_is_not_the_last_is_refused(world: World) -> None:
    first = world.api.apply(lease(world))["metadata"]["resourceVersion"]
    last = world.api.apply(lease(world, labels={"a": "b"}))["metadata"]["resourceVersion"]
    for write in (
        lambda v: world.api.apply(lease(world, labels={"c": "d"}, resourceVersion=v)),
        lambda v: world.api.merge(
            "Lease", world.namespace, "l", {"metadata": {"labels": {"c": "d"}, "resourceVersion": v}}
        ),
        lambda v: world.api.replace(lease(world, labels={"c": "d"}, resourceVersion=v)),
    ):
        with refused(409):
            write(first)
    stored = world.api.get("Lease", world.namespace, "l")
    assert stored is not None
    assert stored["metadata"]["labels"] == {"a": "b"}
    assert world.api.replace(lease(world, resourceVersion=last))["metadata"].get("labels") is None


def test_a_uid_that_is_not_the_objects_is_refused(world: World) -> None:
    world.api.apply(lease(world))
    with refused(422):
        world.api.apply(lease(world, uid="another"))
    with refused(422):
        world.api.merge("Lease", world.namespace, "l", {"metadata": {"uid": "another"}})


def test_an_apply_that_names_a_uid_makes_no_new_object_and_one_that_names_a_version_does(
    world: World,
) -> None:
    """So a version alone is no promise that there is anything it is compared with."""
    spec = {"revision": 1, "fragments": []}
    about = manifest("Placement", world.namespace, "q", spec=spec)
    meta = about["metadata"]
    with refused(409):
        world.api.apply({**about, "metadata": {**meta, "uid": "gone", "resourceVersion": "7"}})
    assert world.api.get("Placement", world.namespace, "q") is None
    assert world.api.apply({**about, "metadata": {**meta, "resourceVersion": "7"}})["spec"] == spec


def test_an_update_makes_no_object(world: World) -> None:
    spec = {"revision": 1, "fragments": []}
    with refused(404):
        meta = {"resourceVersion": "7"}
        world.admin.replace(manifest("Placement", world.namespace, "q", spec=spec, metadata=meta))


def test_an_update_names_its_version(world: World) -> None:
    world.api.apply(lease(world))
    with refused(422):
        world.api.replace(lease(world))


def test_only_the_object_of_the_uid_is_deleted(world: World) -> None:
    uid = world.api.apply(lease(world))["metadata"]["uid"]
    assert not world.api.delete("Lease", world.namespace, "l", "another")
    assert world.api.delete("Lease", world.namespace, "l", uid)
    assert not world.api.delete("Lease", world.namespace, "l", uid)
    assert world.api.apply(lease(world))["metadata"]["uid"] != uid


def test_what_is_there_is_not_created_again(world: World) -> None:
    assert world.api.create(lease(world, labels={"a": "b"}))
    assert not world.api.create(lease(world))
    stored = world.api.get("Lease", world.namespace, "l")
    assert stored is not None
    assert stored["metadata"]["labels"] == {"a": "b"}


def test_a_generation_counts_changes_of_the_spec_alone(world: World) -> None:
    query = manifest("StreamQuery", world.namespace, "q", spec={"sql": "SELECT s.k FROM s AS s"})
    assert world.admin.create(query)

    def generation(patch: dict[str, Any], subresource: str = "") -> int:
        stored = world.admin.merge("StreamQuery", world.namespace, "q", patch, subresource)
        return int(stored["metadata"]["generation"])

    assert generation({"metadata": {"labels": {"a": "b"}}}) == 1
    assert generation({"status": {"nodes": "n1"}}, "status") == 1
    assert generation({"spec": {"priority": 3}}) == 2
    assert generation({"spec": {"priority": 3}}) == 2


def test_who_changes_what_is_not_there_is_told(world: World) -> None:
    with refused(404):
        world.api.merge("Lease", world.namespace, "l", {"metadata": {"labels": {"a": "b"}}})
    status = manifest("StreamQuery", world.namespace, "q", status={"nodes": "n1"})
    with refused(404):
        world.api.apply(status, subresource="status")
    assert world.api.get("Lease", world.namespace, "l") is None
    assert list(world.api.list("Lease", "nowhere")) == []
