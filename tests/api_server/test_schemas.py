"""What our definitions refuse, drop and fill in."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.kube.api import ApiError

from tests.api_server.api_under_test import ApiUnderTest, manifest
from tests.e2e.test_bad_manifests import REFUSED, changed

QUERY = manifest("StreamQuery", "", "q", spec={"sql": "SELECT s.k FROM s AS s", "sink": {"noop": {}}})


def placed(target: ApiUnderTest, thing: dict[str, Any]) -> dict[str, Any]:
    """In the namespace of the test, if its kind is in any."""
    cluster_wide = thing["kind"] in ("PlacementPolicy", "NetworkTopology")
    meta = {**thing["metadata"], **({} if cluster_wide else {"namespace": target.namespace})}
    return {**thing, "metadata": meta}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_command_line_refuses_is_refused_with_the_field(target: ApiUnderTest, what: str) -> None:
    thing, path = REFUSED[what]
    with pytest.raises(ApiError) as refused:
        target.admin.create(placed(target, thing))
    assert refused.value.status == 422
    assert path in str(refused.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sql", "x" * 16385),
        ("priority", 1.5),
        ("order", "none"),
        ("policy", "No_Good"),
        ("labels", {"a": "b c"}),
    ],
)
def test_a_value_that_is_too_long_or_not_allowed_is_refused(
    target: ApiUnderTest, field: str, value: Any
) -> None:
    with pytest.raises(ApiError, match=f"spec.{field}") as refused:
        target.admin.create(placed(target, changed(QUERY, field, value)))
    assert refused.value.status == 422


def test_a_name_that_is_too_long_for_its_pods_is_refused(target: ApiUnderTest) -> None:
    for length, fits in ((50, True), (51, False)):
        thing = placed(target, {**QUERY, "metadata": {"name": "q" * length}})
        if fits:
            assert target.admin.create(thing)
        else:
            with pytest.raises(ApiError, match="the name may have at most 50 characters"):
                target.admin.create(thing)


@pytest.mark.parametrize(
    "meta",
    [{"name": "Q"}, {"name": "a_b"}, {"name": "q", "labels": {"a": "no spaces"}},
     {"name": "q", "labels": {"a": "x" * 64}}, {"name": "q", "labels": {"weir.dev/": "x"}}],
    ids=str,
)  # fmt: skip
def test_a_name_or_label_that_is_none_is_refused(target: ApiUnderTest, meta: dict[str, Any]) -> None:
    thing = manifest("Lease", target.namespace, "x")
    with pytest.raises(ApiError) as refused:
        target.admin.create({**thing, "metadata": {"namespace": target.namespace, **meta}})
    assert refused.value.status == 422


def test_a_new_query_has_a_status_that_says_it_was_not_seen_and_no_other(target: ApiUnderTest) -> None:
    assert target.admin.create({**placed(target, QUERY), "status": {"ready": "1/1", "observedGeneration": 1}})
    query = target.admin.get("StreamQuery", target.namespace, "q") or {}
    assert query["status"] == {"observedGeneration": -1}
    placement = manifest("Placement", target.namespace, "q", spec={"revision": 1, "fragments": []})
    assert "status" not in target.api.apply({**placement, "status": {"ready": "1/1"}})


def test_unknown_fields_are_dropped_when_they_are_created_and_refused_when_they_are_applied(
    target: ApiUnderTest,
) -> None:
    assert target.admin.create(placed(target, changed(QUERY, "priorty", 1)))
    query = target.admin.get("StreamQuery", target.namespace, "q") or {}
    assert "priorty" not in query["spec"]
    status = manifest("StreamQuery", target.namespace, "q", status={"colour": "red"})
    with pytest.raises(ApiError, match="field not declared in schema") as refused:
        target.api.apply(status, subresource="status")
    assert refused.value.status == 500


def test_a_status_changes_nothing_else_and_a_spec_no_status(target: ApiUnderTest) -> None:
    assert target.admin.create(placed(target, QUERY))
    both = manifest(
        "StreamQuery", target.namespace, "q", spec={"sql": "SELECT s.x FROM s AS s"}, status={"nodes": "n1"}
    )
    target.admin.merge("StreamQuery", target.namespace, "q", both, "status")
    query = target.admin.get("StreamQuery", target.namespace, "q") or {}
    assert (query["spec"]["sql"], query["status"]["nodes"]) == (QUERY["spec"]["sql"], "n1")
    both["status"] = {"nodes": "n2"}
    target.admin.merge("StreamQuery", target.namespace, "q", both)
    query = target.admin.get("StreamQuery", target.namespace, "q") or {}
    assert (query["spec"]["sql"], query["status"]["nodes"]) == ("SELECT s.x FROM s AS s", "n1")


@pytest.mark.parametrize(("text", "fits"), [("é" * 1024, True), ("é" * 1025, False), ("😀" * 1024, True)])
def test_lengths_are_in_characters(target: ApiUnderTest, text: str, fits: bool) -> None:
    assert target.admin.create(placed(target, QUERY))
    status = manifest("StreamQuery", target.namespace, "q", status={"nodes": text})
    if fits:
        assert target.api.apply(status, subresource="status")["status"]["nodes"] == text
        return
    with pytest.raises(ApiError) as refused:
        target.api.apply(status, subresource="status")
    assert refused.value.status == 422


def test_in_a_namespace_that_is_not_there_or_is_ending_nothing_is_made(target: ApiUnderTest) -> None:
    with pytest.raises(ApiError, match="not found") as refused:
        target.api.create(manifest("Lease", "nowhere", "l"))
    assert refused.value.status == 404
    present = target.api.apply(manifest("Lease", target.namespace, "present"))
    assert target.admin.delete("Namespace", "", target.namespace)
    new = manifest("Lease", target.namespace, "new")
    for write in (target.api.create, target.api.apply):
        with pytest.raises(ApiError, match="because it is being terminated") as refused:
            write(new)
        assert refused.value.status == 403
    labels = {"a": "b"}
    again = target.api.apply(manifest("Lease", target.namespace, "present", metadata={"labels": labels}))
    assert again["metadata"]["uid"] == present["metadata"]["uid"]
