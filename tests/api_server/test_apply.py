"""Server-side apply: whose a field is, and what becomes of it when it is not applied any more."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.kube.api import ApiError

from tests.api_server.api_under_test import ApiUnderTest, manifest


def placement(target: ApiUnderTest, spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
    spec = {"revision": 1, "fragments": [], **spec}
    return manifest("Placement", target.namespace, "q", spec=spec, metadata=meta)


def status(target: ApiUnderTest, fields: dict[str, Any], kind: str = "Placement") -> dict[str, Any]:
    return manifest(kind, target.namespace, "q", status=fields)


def test_what_another_has_written_stays_and_what_is_applied_no_more_goes(target: ApiUnderTest) -> None:
    target.api.apply(placement(target, {"headroom": 2.5}))
    target.admin.merge("Placement", target.namespace, "q", {"spec": {"pinned": 3}})
    after = target.api.apply(placement(target, {"revision": 2}))
    assert after["spec"] == {"revision": 2, "fragments": [], "pinned": 3}


def test_a_field_that_another_manager_applies_too_stays_with_it(target: ApiUnderTest) -> None:
    target.api.apply(placement(target, {"headroom": 2.5}))
    target.admin.apply(placement(target, {"headroom": 2.5}), manager="other")
    assert target.api.apply(placement(target, {}))["spec"]["headroom"] == 2.5
    assert "headroom" not in target.admin.apply(placement(target, {}), manager="other")["spec"]


def test_who_applies_by_force_takes_the_field(target: ApiUnderTest) -> None:
    target.admin.apply(placement(target, {"headroom": 2.5}), manager="other")
    assert target.api.apply(placement(target, {"headroom": 3.5}))["spec"]["headroom"] == 3.5
    assert target.admin.apply(placement(target, {}), manager="other")["spec"]["headroom"] == 3.5


def test_what_a_merge_has_overwritten_is_no_longer_the_appliers(target: ApiUnderTest) -> None:
    target.api.apply(placement(target, {"headroom": 2.5}))
    target.admin.merge("Placement", target.namespace, "q", {"spec": {"headroom": 9.5}})
    assert target.api.apply(placement(target, {}))["spec"]["headroom"] == 9.5


def test_items_of_a_keyed_list_come_and_go_one_by_one(target: ApiUnderTest) -> None:
    def conditions(*types: str) -> list[dict[str, Any]]:
        return [{"type": t, "status": "True", "reason": "Weir"} for t in types]

    query = manifest("StreamQuery", target.namespace, "q", spec={"sql": "SELECT s.k FROM s AS s"})
    assert target.admin.create(query)
    target.api.apply(
        status(target, {"conditions": conditions("Ready", "Moving")}, "StreamQuery"), "weir", "status"
    )
    others = status(target, {"conditions": conditions("Backed-Up")}, "StreamQuery")
    target.admin.apply(others, "backup", "status")
    mine = status(target, {"conditions": conditions("Ready")}, "StreamQuery")
    after = target.api.apply(mine, "weir", "status")
    assert {c["type"] for c in after["status"]["conditions"]} == {"Ready", "Backed-Up"}


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ({"drift": {"lowSince": 1.5}}, {}, {}),
        ({"drift": {"moving": {"f": 1.5}, "lowSince": 1.5}}, {"drift": {"lowSince": 1.5}},
         {"drift": {"lowSince": 1.5}}),
        ({"drift": {"moving": {"f": 1.5}}}, {"drift": {"moving": {}}}, {"drift": {"moving": None}}),
        ({"drift": {}}, {"drift": {"lowSince": 1.5}}, {"drift": {"lowSince": 1.5}}),
        ({"owned": ["a", "b"]}, {"owned": ["b"]}, {"owned": ["b"]}),
        ({"owned": ["a"]}, {"owned": []}, {}),
        ({"running": [{"name": "f"}]}, {"running": []}, {"running": []}),
        ({"running": [{"name": "f"}]}, {}, {}),
        ({"progress": {"since": {"f": 1}}}, {"progress": {"generation": 1}}, {"progress": {"generation": 1}}),
    ],
)  # fmt: skip
def test_what_is_left_of_maps_and_lists_that_become_empty(
    target: ApiUnderTest, before: dict[str, Any], after: dict[str, Any], left: dict[str, Any]
) -> None:
    target.api.apply(placement(target, {}))
    target.api.apply(status(target, {"ready": "1/1", **before}), subresource="status")
    stored = target.api.apply(status(target, {"ready": "1/1", **after}), subresource="status")
    assert stored["status"] == {"ready": "1/1", **left}


def test_a_typed_map_that_is_emptied_is_refused(target: ApiUnderTest) -> None:
    """It would be a null, which its type forbids: a writer leaves the map out instead."""
    target.api.apply(placement(target, {}))
    full = status(target, {"ready": "1/1", "progress": {"since": {"f": 1}}})
    target.api.apply(full, subresource="status")
    with pytest.raises(ApiError) as refused:
        target.api.apply(status(target, {"ready": "1/1", "progress": {"since": {}}}), subresource="status")
    assert refused.value.status == 422


def test_a_whole_status_that_is_emptied_is_refused_or_begins_anew(target: ApiUnderTest) -> None:
    """A null again; where the schema has a default, that."""
    query = manifest("StreamQuery", target.namespace, "q", spec={"sql": "SELECT s.k FROM s AS s"})
    assert target.admin.create(query)
    target.api.apply(status(target, {"observedGeneration": 1}, "StreamQuery"), subresource="status")
    stored = target.api.apply(status(target, {}, "StreamQuery"), subresource="status")
    assert stored["status"] == {"observedGeneration": -1}
    target.api.apply(placement(target, {}))
    target.api.apply(status(target, {"ready": "1/1"}), subresource="status")
    with pytest.raises(ApiError) as refused:
        target.api.apply(status(target, {}), subresource="status")
    assert refused.value.status == 422


def test_what_is_applied_again_changes_no_version(target: ApiUnderTest) -> None:
    first = target.api.apply(placement(target, {}, labels={"a": "b"}))
    again = target.api.apply(placement(target, {}, labels={"a": "b"}))
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    other = target.api.apply(placement(target, {}, labels={"a": "c"}))
    assert other["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]


def test_a_new_owner_takes_the_place_of_the_one_applied_before(target: ApiUnderTest) -> None:
    def owned_by(uid: str) -> dict[str, Any]:
        owner = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": uid, "controller": True}
        return placement(target, {}, ownerReferences=[owner])

    target.api.apply(owned_by("u1"))
    stored = target.api.apply(owned_by("u2"))
    assert [owner["uid"] for owner in stored["metadata"]["ownerReferences"]] == ["u2"]
    with pytest.raises(ApiError, match="Only one reference") as refused:
        target.admin.apply(owned_by("u3"), manager="other")
    assert refused.value.status == 422


TEXTS = ["plain", "é ü ß", "漢字", "😀 non-BMP 𝕏", "tab\tnew\nline", "\x00\x01\x1b[31m", "\x7f\x80\x85\x9f",
         "\u2028\u2029\ufeff\ufffe\uffff", "back\\ud83d\\ude00slash", "# ' \" : - {a: b}", "\\"]  # fmt: skip


def test_an_empty_list_that_was_applied_is_nobodys_and_stays(target: ApiUnderTest) -> None:
    target.api.apply(placement(target, {"operators": []}))
    assert target.api.apply(placement(target, {}))["spec"] == {
        "revision": 1,
        "fragments": [],
        "operators": [],
    }


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_any_text_is_stored_as_it_is(target: ApiUnderTest, text: str) -> None:
    """What is applied goes through the API server's reader of YAML, which is not one of JSON."""
    target.api.apply(placement(target, {"plan": {"source": text, text: [text]}}))
    stored = target.api.apply(status(target, {"nodes": text}), subresource="status")
    assert stored["status"] == {"nodes": text}
    assert stored["spec"]["plan"] == {"source": text, text: [text]}
