"""Health of live objects, as kstatus itself computes it and as the shipped Lua says it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.kubectl import Manifest, get, run
from tests.kube.test_health_lua import health

KINDS = "streams,streamqueries,inputprofiles,placementpolicies,networktopologies"
LUA_TO_KSTATUS = {
    "Healthy": "Current",
    "Suspended": "Current",
    "Progressing": "InProgress",
    "Degraded": "Failed",
}


def verdicts(kstatus: Path, *arguments: str) -> dict[str, tuple[str, str, Manifest]]:
    """By kind/name: what kstatus says, what the Lua says, and the object."""
    objects = get(*arguments)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    computed = json.loads(run(str(kstatus), stdin=listed))
    return {
        f"{o['kind']}/{o['metadata']['name']}": (
            computed[f"{o['kind']}/{o['metadata'].get('namespace', '')}/{o['metadata']['name']}"][0],
            health(o)[0],
            o,
        )
        for o in objects
    }


def assert_agree(verdicts: Mapping[str, tuple[str, str, Manifest]]) -> None:
    """Both say the same of each object."""
    for name, (computed, verdict, manifest) in verdicts.items():
        assert LUA_TO_KSTATUS[verdict] == computed, f"{name}: {manifest['status']}"


def assert_all_current(kstatus: Path, namespace: str) -> None:
    """Every object of every kind that users write is in order, for both; a Placement is so for kstatus."""
    by_object = verdicts(kstatus, KINDS, "-n", namespace)
    assert {name.split("/")[0].lower() for name in by_object} == {
        "stream", "streamquery", "inputprofile", "placementpolicy", "networktopology",
    }  # fmt: skip
    assert_agree(by_object)
    placed = verdicts(kstatus, "placements", "-n", namespace)
    assert placed
    for name, (computed, _, manifest) in [*by_object.items(), *placed.items()]:
        assert computed == "Current", f"{name}: {manifest['status']}"
