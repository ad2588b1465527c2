"""What the API server in memory refuses is what the real one refuses."""

from __future__ import annotations

from typing import Any

from weir_operator.kube.api import Api, ApiError, path_of

from tests.api_server.api_under_test import ApiUnderTest
from tests.controller.test_any_broken_object import ODD, PLACES, broken_ones, mutated
from tests.kube.memory import Memory

HUGE = 10**400
"""No number that Go reads: refused before any schema."""


def verdict(api: Api, manifest: dict[str, Any]) -> int:
    """The status of a creation that is only tried, 201 for one that would succeed."""
    path = path_of(manifest["kind"], manifest["metadata"].get("namespace", ""))
    try:
        api.call("POST", path, manifest, {"dryRun": "All"})
    except ApiError as error:
        return error.status
    return 201


def verdict_in_memory(manifest: dict[str, Any]) -> int:
    try:
        Memory().create(manifest)
    except ApiError as error:
        return error.status
    return 201


def test_every_object_with_one_odd_value(target: ApiUnderTest) -> None:
    differences = []
    for i, path in PLACES:
        raw = broken_ones()[i]
        if raw["apiVersion"] == "v1" or path[0] != "spec":
            continue
        where = {"namespace": target.namespace} if "namespace" in raw["metadata"] else {}
        for odd in (..., *(value for value in ODD if value != HUGE)):
            manifest = {**mutated(raw, path, odd), "metadata": {"name": raw["metadata"]["name"], **where}}
            verdicts = verdict(target.admin, manifest), verdict_in_memory(manifest)
            if len(set(verdicts)) > 1:
                differences.append((raw["kind"], path, odd, *verdicts))
    assert differences == []
