"""Preconditions: a write over what was not read, or on another object of the same name."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.kube.api import ApiError

from tests.api_server.api_under_test import ApiUnderTest, manifest


def lease(target: ApiUnderTest, **meta: Any) -> dict[str, Any]:
    return manifest("Lease", target.namespace, "l", metadata=meta)


def refused(status: int) -> Any:
    """Of which status, and that nothing else is raised."""

    class RefusedObject:
        def __enter__(self) -> None:
            self.raises = pytest.raises(ApiError)
            self.info = self.raises.__enter__()

        def __exit__(self, *error: Any) -> bool:
            suppressed = self.raises.__exit__(*error)
            assert self.info.value.status == status, self.info.value
            return bool(suppressed)

    return RefusedObject()


def test_a_write_over_a_version_that_is_not_the_last_is_refused(target: ApiUnderTest) -> None:
    first = target.api.apply(lease(target))["metadata"]["resourceVersion"]
    last = target.api.apply(lease(target, labels={"a": "b"}))["metadata"]["resourceVersion"]
    for write in (
        lambda v: target.api.apply(lease(target, labels={"c": "d"}, resourceVersion=v)),
        lambda v: target.api.merge(
            "Lease", target.namespace, "l", {"metadata": {"labels": {"c": "d"}, "resourceVersion": v}}
        ),
        lambda v: target.api.replace(lease(target, labels={"c": "d"}, resourceVersion=v)),
    ):
        with refused(409):
            write(first)
    stored = target.api.get("Lease", target.namespace, "l")
    assert stored is not None
    assert stored["metadata"]["labels"] == {"a": "b"}
    assert target.api.replace(lease(target, resourceVersion=last))["metadata"].get("labels") is None


def test_a_uid_that_is_not_the_objects_is_refused(target: ApiUnderTest) -> None:
    target.api.apply(lease(target))
    with refused(422):
        target.api.apply(lease(target, uid="another"))
    with refused(422):
        target.api.merge("Lease", target.namespace, "l", {"metadata": {"uid": "another"}})


def test_an_apply_that_names_a_uid_makes_no_new_object_and_one_that_names_a_version_does(
    target: ApiUnderTest,
) -> None:
    """So a version alone is no promise that there is anything it is compared with."""
    spec = {"revision": 1, "fragments": []}
    about = manifest("Placement", target.namespace, "q", spec=spec)
    meta = about["metadata"]
    with refused(409):
        target.api.apply({**about, "metadata": {**meta, "uid": "gone", "resourceVersion": "7"}})
    assert target.api.get("Placement", target.namespace, "q") is None
    assert target.api.apply({**about, "metadata": {**meta, "resourceVersion": "7"}})["spec"] == spec


def test_an_update_makes_no_object(target: ApiUnderTest) -> None:
    spec = {"revision": 1, "fragments": []}
    with refused(404):
        meta = {"resourceVersion": "7"}
        target.admin.replace(manifest("Placement", target.namespace, "q", spec=spec, metadata=meta))


def test_an_update_names_its_version(target: ApiUnderTest) -> None:
    target.api.apply(lease(target))
    with refused(422):
        target.api.replace(lease(target))


def test_only_the_object_of_the_uid_is_deleted(target: ApiUnderTest) -> None:
    uid = target.api.apply(lease(target))["metadata"]["uid"]
    assert not target.api.delete("Lease", target.namespace, "l", "another")
    assert target.api.delete("Lease", target.namespace, "l", uid)
    assert not target.api.delete("Lease", target.namespace, "l", uid)
    assert target.api.apply(lease(target))["metadata"]["uid"] != uid


def test_what_is_there_is_not_created_again(target: ApiUnderTest) -> None:
    assert target.api.create(lease(target, labels={"a": "b"}))
    assert not target.api.create(lease(target))
    stored = target.api.get("Lease", target.namespace, "l")
    assert stored is not None
    assert stored["metadata"]["labels"] == {"a": "b"}


def test_a_generation_counts_changes_of_the_spec_alone(target: ApiUnderTest) -> None:
    query = manifest("StreamQuery", target.namespace, "q", spec={"sql": "SELECT s.k FROM s AS s"})
    assert target.admin.create(query)

    def generation(patch: dict[str, Any], subresource: str = "") -> int:
        stored = target.admin.merge("StreamQuery", target.namespace, "q", patch, subresource)
        return int(stored["metadata"]["generation"])

    assert generation({"metadata": {"labels": {"a": "b"}}}) == 1
    assert generation({"status": {"nodes": "n1"}}, "status") == 1
    assert generation({"spec": {"priority": 3}}) == 2
    assert generation({"spec": {"priority": 3}}) == 2


def test_who_changes_what_is_not_there_is_told(target: ApiUnderTest) -> None:
    with refused(404):
        target.api.merge("Lease", target.namespace, "l", {"metadata": {"labels": {"a": "b"}}})
    status = manifest("StreamQuery", target.namespace, "q", status={"nodes": "n1"})
    with refused(404):
        target.api.apply(status, subresource="status")
    assert target.api.get("Lease", target.namespace, "l") is None
    assert list(target.api.list("Lease", "nowhere")) == []
