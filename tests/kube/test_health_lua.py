"""The Lua health check that is shipped for Argo CD, run in Lua, on the statuses that the loop writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lupa.lua51
import pytest

LUA = (Path(__file__).resolve().parents[2] / "docs/gitops/health.lua").read_text()


def to_lua(runtime: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return runtime.table_from({key: to_lua(runtime, item) for key, item in value.items()})
    if isinstance(value, list):
        return runtime.table_from([to_lua(runtime, item) for item in value])
    return value


def health(manifest: dict[str, Any]) -> tuple[str, str]:
    runtime = lupa.lua51.LuaRuntime(unpack_returned_tuples=True)
    runtime.globals()["obj"] = to_lua(runtime, manifest)
    verdict = runtime.execute(LUA)
    return verdict["status"], verdict["message"]


def query(generation: int, observed: int | None, **conditions: str) -> dict[str, Any]:
    status: dict[str, Any] = {
        "conditions": [
            {"type": name, "status": value.split()[0], "reason": value.split()[-1], "message": f"{name} says"}
            for name, value in conditions.items()
        ]
    }
    if observed is not None:
        status["observedGeneration"] = observed
    return {"metadata": {"generation": generation}, "status": status}


@pytest.mark.parametrize(
    ("manifest", "verdict"),
    [
        ({"metadata": {"generation": 1}}, "Progressing"),
        (query(1, -1), "Progressing"),
        (query(2, 1, Ready="True"), "Progressing"),
        (query(1, 1, Ready="True", Reconciling="False", Stalled="False"), "Healthy"),
        (query(1, 1, Ready="True", Moving="True"), "Healthy"),
        (query(1, 1, Ready="True Suspended"), "Suspended"),
        (query(1, 1, Ready="False", Reconciling="True"), "Progressing"),
        (query(1, 1, Ready="False", Reconciling="False", Stalled="True"), "Degraded"),
        (query(1, 1, Ready="False"), "Progressing"),
    ],
)
def test_verdicts(manifest: dict[str, Any], verdict: str) -> None:
    assert health(manifest)[0] == verdict


def test_the_message_is_the_conditions_own() -> None:
    assert health(query(1, 1, Ready="False", Stalled="True"))[1] == "Stalled says"
