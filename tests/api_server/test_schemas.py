"""What our definitions refuse, drop and fill in."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.kube.api import ApiError

from tests.api_server.worlds import World, manifest
from tests.e2e.test_bad_manifests import REFUSED, changed

QUERY = manifest("StreamQuery", "", "q", spec={"sql": "SELECT s.k FROM s AS s", "sink": {"noop": {}}})


def placed(world: World, thing: dict[str, Any]) -> dict[str, Any]:
    """In the namespace of the test, if its kind is in any."""
    cluster_wide = thing["kind"] in ("PlacementPolicy", "NetworkTopology")
    meta = {**thing["metadata"], **({} if cluster_wide else {"namespace": world.namespace})}
    return {**thing, "metadata": meta}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_command_line_refuses_is_refused_with_the_field(world: World, what: str) -> None:
    thing, path = REFUSED[what]
    with pytest.raises(ApiError) as refused:
        world.admin.create(placed(world, thing))
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
def test_a_value_that_is_too_long_or_not_allowed_is_refused(world: World, field: str, value: Any) -> None:
    with pytest.raises(ApiError, match=f"spec.{field}") as refused:
        world.admin.create(placed(world, changed(QUERY, field, value)))
    assert refused.value.status == 422


def test_a_name_that_is_too_long_for_its_pods_is_refused(world: World) -> None:
    for length, fits in ((50, True), (51, False)):
        thing = placed(world, {**QUERY, "metadata": {"name": "q" * length}})
        if fits:
            assert world.admin.create(thing)
        else:
            with pytest.raises(ApiError, match="the name may have at most 50 characters"):
                world.admin.create(thing)


@pytest.mark.parametrize(
    "meta",
    [{"name": "Q"}, {"name": "a_b"}, {"name": "q", "labels": {"a": "no spaces"}},
     {"name": "q", "labels": {"a": "x" * 64}}, {"name": "q", "labels": {"weir.dev/": "x"}}],
    ids=str,
)  # fmt: skip
def test_a_name_or_label_that_is_none_is_refused(world: World, meta: dict[str, Any]) -> None:
    thing = manifest("Lease", world.namespace, "x")
    with pytest.raises(ApiError) as refused:
        world.admin.create({**thing, "metadata": {"namespace": world.namespace, **meta}})
    assert refused.value.status == 422


def test_a_new_query_has_a_status_that_says_it_was_not_seen_and_no_other(world: World) -> None:
    assert world.admin.create({**placed(world, QUERY), "status": {"ready": "1/1", "observedGeneration": 1}})
    query = world.admin.get("StreamQuery", world.namespace, "q") or {}
    assert query["status"] == {"observedGeneration": -1}
    placement = manifest("Placement", world.namespace, "q", spec={"revision": 1, "fragments": []})
    assert "status" not in world.api.apply({**placement, "status": {"ready": "1/1"}})


def test_unknown_fields_are_dropped_when_they_are_created_and_refused_when_they_are_applied(
    world: World,
) -> None:
    assert world.admin.create(placed(world, changed(QUERY, "priorty", 1)))
    query = world.admin.get("StreamQuery", world.namespace, "q") or {}
    assert "priorty" not in query["spec"]
    status = manifest("StreamQuery", world.namespace, "q", status={"colour": "red"})
    with pytest.raises(ApiError, match="field not declared in schema") as refused:
        world.api.apply(status, subresource="status")
    assert refused.value.status == 500


def test_a_status_changes_nothing_else_and_a_spec_no_status(world: World) -> None:
    assert world.admin.create(placed(world, QUERY))
    both = manifest(
        "StreamQuery", world.namespace, "q", spec={"sql": "SELECT s.x FROM s AS s"}, status={"nodes": "n1"}
    )
    world.admin.merge("StreamQuery", world.namespace, "q", both, "status")
    query = world.admin.get("StreamQuery", world.namespace, "q") or {}
    assert (query["spec"]["sql"], query["status"]["nodes"]) == (QUERY["spec"]["sql"], "n1")
    both["status"] = {"nodes": "n2"}
    world.admin.merge("StreamQuery", world.namespace, "q", both)
    query = world.admin.get("StreamQuery", world.namespace, "q") or {}
    assert (query["spec"]["sql"], query["status"]["nodes"]) == ("SELECT s.x FROM s AS s", "n1")


@pytest.mark.parametrize(("text", "fits"), [("é" * 1024, True), ("é" * 1025, False), ("😀" * 1024, True)])
def test_lengths_are_in_characters(world: World, text: str, fits: bool) -> None:
    assert world.admin.create(placed(world, QUERY))
    status = manifest("StreamQuery", world.namespace, "q", status={"nodes": text})
    if fits:
        assert world.api.apply(status, subresource="status")["status"]["nodes"] == text
        return
    with pytest.raises(ApiError) as refused:
        world.api.apply(status, subresource="status")
    assert refused.value.status == 422


def test_in_a_namespace_that_is_not_there_or_is_ending_nothing_is_made(world: World) -> None:
    with pytest.raises(ApiError, match="not found") as refused:
        world.api.create(manifest("Lease", "nowhere", "l"))
    assert refused.value.status == 404
    present = world.api.apply(manifest("Lease", world.namespace, "present"))
    assert world.admin.delete("Namespace", "", world.namespace)
    new = manifest("Lease", world.namespace, "new")
    for write in (world.api.create, world.api.apply):
        with pytest.raises(ApiError, match="because it is being terminated") as refused:
            write(new)
        assert refused.value.status == 403
    labels = {"a": "b"}
    again = world.api.apply(manifest("Lease", world.namespace, "present", metadata={"labels": labels}))
    assert again["metadata"]["uid"] == present["metadata"]["uid"]
