"""The validating webhook says at once what a condition would say later, and lets a missing reference pass."""

from __future__ import annotations

from typing import Any

import kopf
import pytest
from weir_operator.kube.admission import Admission, complaint
from weir_operator.kube.handlers import CHECKED, registry
from weir_operator.kube.liveness import Liveness
from weir_operator.kube.settings import OperatorSettings

from tests.e2e.test_bad_manifests import QUERY, STREAM, changed
from tests.kube.memory import Memory
from tests.kube.test_handlers import CountedWakes
from tests.manifests.scene import obj

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "newyork"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}},
}
BAD = {
    "an unknown column": (changed(QUERY, "sql", "SELECT a.z FROM a"), "a.z"),
    "a function that could run code": (
        changed(QUERY, "sql", "SELECT reflect('a', 'b') AS r FROM a"),
        "reflect",
    ),
    "a folder that is not the namespace's": (
        changed(QUERY, "sink", {"files": {"uri": "/tmp/x"}}),
        "/var/lib/weir/files/default",
    ),
    "no SQL at all": (changed(QUERY, "sql", "SELEC a.x FRM a"), "sql"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_told(what: str) -> None:
    manifest, word = BAD[what]
    assert word in complaint(manifest, [NODE, STREAM])


def test_good_ones_and_those_that_come_too_early_may_come_in() -> None:
    assert complaint(QUERY, [NODE, STREAM]) == ""
    assert complaint(QUERY, [NODE]) == ""  # the stream may be applied next
    assert complaint(STREAM, [NODE]) == ""


def test_executors_are_refused_where_there_are_none() -> None:
    wide = changed(QUERY, "resources", {"executors": 2})
    assert complaint(wide, [NODE, STREAM]) == ""
    assert "runs no executors" in complaint(wide, [NODE, STREAM], executors=False)


@pytest.mark.parametrize("hosts", [True, False])
def test_a_query_whose_policy_shares_processes_comes_in_where_there_are_hosts(hosts: bool) -> None:
    objects = (NODE, STREAM, obj("PlacementPolicy", "default", {"fragments": {"isolation": "Shared"}}))
    admission = Admission(Memory(*objects).api, OperatorSettings(hosts=hosts))
    assert ("this installation runs no hosts" in admission.complaint(QUERY)) is not hosts


def test_an_edit_is_judged_without_its_former_self() -> None:
    wrong, _ = BAD["an unknown column"]
    assert complaint(QUERY, [NODE, STREAM, wrong]) == ""
    assert complaint(wrong, [NODE, STREAM, QUERY])


def writing(name: str, folder: str, created: str) -> dict[str, Any]:
    """A query that has a files sink below its namespace's root."""
    query = changed(QUERY, "sink", {"files": {"uri": folder}})
    return {**query, "metadata": {"name": name, "creationTimestamp": created}}


OLDER = writing("a", "out/a", "2026-01-01T00:00:00Z")
NEWER = writing("b", "out/b", "2026-02-01T00:00:00Z")
IS_TAKEN = "is also that of default/b; give each query its own"


@pytest.mark.parametrize("folder", ["out/b", "out/./b/"])
def test_an_edit_of_the_older_query_does_not_take_the_folder_of_another(folder: str) -> None:
    present = [NODE, STREAM, OLDER, NEWER]
    assert IS_TAKEN in complaint(changed(OLDER, "sink", {"files": {"uri": folder}}), present)
    assert complaint(changed(OLDER, "sink", {"files": {"uri": "out/c"}}), present) == ""
    assert complaint(changed(NEWER, "priority", 3), present) == ""


def test_a_query_that_is_new_here_does_not_take_a_folder_by_its_age() -> None:
    """One of a backup brings the time of its creation with it."""
    restored = writing("a", "out/b", "2026-01-01T00:00:00Z")
    assert IS_TAKEN in complaint(restored, [NODE, STREAM, NEWER])


class Refuses:
    def complaint(self, manifest: dict[str, Any]) -> str:
        return f"{manifest['kind']} is wrong"


def test_only_creations_and_updates_are_refused() -> None:
    registered = registry(CountedWakes(), Liveness(), Refuses())  # type: ignore[arg-type]
    handlers = list(registered._webhooks.get_all_handlers())
    assert {h.selector.any_name or h.selector.plural for h in handlers if h.selector} == set(CHECKED)
    assert {h.id for h in handlers} == {"check"}  # the path that the chart's configuration names
    check: Any = handlers[0].fn
    with pytest.raises(kopf.AdmissionError, match="Stream is wrong"):
        check(body=kopf.Body(STREAM), operation="CREATE")
    check(body=kopf.Body(STREAM), operation="DELETE")
