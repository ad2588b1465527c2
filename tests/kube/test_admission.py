"""The validating webhook says at once what a condition would say later, and lets a missing reference pass."""

from __future__ import annotations

from typing import Any

import kopf
import pytest
from weir_operator.kube.admission import Admission, AdmissionAnswer, answer
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


def complaint(*about: Any, **here: bool) -> str:
    return answer(*about, **here).complaint


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
    assert ("this installation runs no hosts" in admission.answer(QUERY).complaint) is not hosts


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


DOUBTFUL = changed(QUERY, "sql", "SELECT a.x FROM a WHERE a.x > 5 AND a.x < 3")
NEVER = "spec.sql: line 1, column 37: a.x > 5 AND a.x < 3 is never true, so no row ever passes"


def test_what_is_hardly_meant_comes_in_with_the_warning_of_the_command_line() -> None:
    assert answer(DOUBTFUL, [NODE, STREAM]) == AdmissionAnswer("", (NEVER,))
    small = changed(QUERY, "resources", {"memory": "2"})
    assert answer(small, [NODE, STREAM, changed(DOUBTFUL, "priority", 3)]).warnings == (
        "spec.resources.memory: 2 is 2 bytes; write it with its unit, such as 2Gi",
    )


def test_what_the_next_object_may_allay_is_no_warning() -> None:
    topology = obj("NetworkTopology", "sites", {"links": [{"from": "oslo", "to": "newyork"}]})
    assert answer(topology, [NODE]) == AdmissionAnswer()


def test_warnings_that_the_api_server_would_cut_off_are_counted_out() -> None:
    items = ", ".join(f"a.x / 0 AS c{i}" for i in range(100))
    warnings = answer(changed(QUERY, "sql", f"SELECT {items} FROM a"), [NODE, STREAM]).warnings
    assert sum(map(len, warnings)) < 4096
    assert warnings[-1] == "there are more: `weir plan` tells them all"


class Answers:
    def answer(self, manifest: dict[str, Any]) -> AdmissionAnswer:
        return AdmissionAnswer(f"{manifest['kind']} is wrong", ("and odd",))


def test_only_creations_and_updates_are_answered() -> None:
    registered = registry(CountedWakes(), Liveness(), Answers())  # type: ignore[arg-type]
    handlers = list(registered._webhooks.get_all_handlers())
    assert {h.selector.any_name or h.selector.plural for h in handlers if h.selector} == set(CHECKED)
    assert {h.id for h in handlers} == {"check"}  # the path that the chart's configuration names
    check: Any = handlers[0].fn
    warnings: list[str] = []
    check(body=kopf.Body(STREAM), operation="DELETE", warnings=warnings)
    assert warnings == []
    with pytest.raises(kopf.AdmissionError, match="Stream is wrong"):
        check(body=kopf.Body(STREAM), operation="CREATE", warnings=warnings)
    assert warnings == ["and odd"]
