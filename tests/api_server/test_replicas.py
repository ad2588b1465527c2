"""Of two replicas that write one after the other, the one that led before overwrites nothing."""

from __future__ import annotations

import pytest
from weir_operator.controller.decision import CleanUp, DeletePlacement, HandOver, RequestCut, WritePlacement
from weir_operator.kube import names
from weir_operator.kube.api import ApiError

from tests.api_server.scene import ApiScene


def intent(scene: ApiScene, revision: int) -> WritePlacement:
    query = f"{scene.target.namespace}/q"
    return WritePlacement(query, {"revision": revision, "fragments": []}, {"ready": f"{revision}/{revision}"})


def test_a_placement_that_was_deleted_is_not_made_again_by_a_replica_that_led_before(scene: ApiScene) -> None:
    """The version that it read is no precondition where there is no object any more; the uid is."""
    scene.until(scene.ready)
    late, query = scene.cluster, f"{scene.target.namespace}/q"
    late.observe()
    assert scene.target.admin.delete("Placement", scene.target.namespace, "q")
    with pytest.raises(ApiError) as refused:
        late.write_placement(WritePlacement(query, {"revision": 9, "fragments": []}, {"ready": "9/9"}))
    assert refused.value.status == 409
    assert not scene.of("Placement")


def test_an_intent_over_a_later_one_is_refused_and_the_leader_goes_on(scene: ApiScene) -> None:
    scene.until(scene.ready)
    late, leader = scene.replica(), scene.replica()
    for replica in (late, leader):
        replica.observe()
    leader.write_placement(intent(scene, 7))
    with pytest.raises(ApiError) as refused:
        late.write_placement(intent(scene, 9))
    assert refused.value.status == 409
    placement = scene.of("Placement")
    assert (placement["spec"]["revision"], placement["status"]["ready"]) == (7, "7/7")
    leader.write_placement(intent(scene, 8))
    assert scene.of("Placement")["spec"]["revision"] == 8


def test_an_intent_over_what_a_person_wrote_meanwhile_is_refused(scene: ApiScene) -> None:
    scene.until(scene.ready)
    replica = scene.replica()
    replica.observe()
    scene.target.admin.merge("Placement", scene.target.namespace, "q", {"spec": {"pinned": 1}})
    with pytest.raises(ApiError) as refused:
        replica.write_placement(intent(scene, 9))
    assert refused.value.status == 409
    replica.observe()
    replica.write_placement(intent(scene, 9))
    assert (scene.of("Placement")["spec"]["pinned"], scene.of("Placement")["spec"]["revision"]) == (1, 9)


def test_a_first_intent_over_another_replicas_is_refused(scene: ApiScene) -> None:
    late, leader = scene.replica(), scene.replica()
    for replica in (late, leader):
        replica.observe()
    leader.write_placement(intent(scene, 1))
    with pytest.raises(ApiError, match="was not observed"):
        late.write_placement(intent(scene, 9))
    assert scene.of("Placement")["spec"]["revision"] == 1


def test_a_placement_of_the_same_name_that_is_another_is_not_deleted(scene: ApiScene) -> None:
    scene.until(scene.ready)
    late = scene.replica()
    late.observe()
    assert scene.target.admin.delete("Placement", scene.target.namespace, "q")
    leader = scene.replica()
    leader.observe()
    leader.write_placement(intent(scene, 1))
    late.write_placement(DeletePlacement(f"{scene.target.namespace}/q"))
    assert scene.of("Placement")["spec"]["revision"] == 1


def test_a_hand_over_only_goes_forward_and_a_cut_is_asked_for_once(scene: ApiScene) -> None:
    scene.until(scene.ready)
    fragment = scene.fragment(min(scene.pods()))
    late, leader = scene.replica(), scene.replica()
    for replica in (late, leader):
        replica.observe()
    leader.apply(HandOver(fragment, 5))
    late.apply(HandOver(fragment, 3))
    leader.apply(RequestCut(fragment, 20.0))
    late.apply(RequestCut(fragment, 99.0))
    notes = scene.of("Lease", fragment)["metadata"]["annotations"]
    assert notes[names.HANDOVER] == "5"
    assert "20.0" in notes[names.CHANGE]


def test_what_a_fragment_leaves_is_cleared_away_twice_without_an_error(scene: ApiScene) -> None:
    scene.until(scene.ready)
    fragment = scene.fragment(min(scene.pods()))
    for replica in (scene.replica(), scene.replica()):
        replica.observe()
        replica.apply(CleanUp(fragment, f"{scene.target.namespace}/q"))
    for kind in ("Lease", "Role", "RoleBinding", "ServiceAccount", "PodDisruptionBudget"):
        assert not scene.of(kind, fragment)
