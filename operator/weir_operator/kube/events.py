"""Events about a query or a snapshot, with the stable reasons that the controller gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_operator.api.fit import clip
from weir_operator.controller.decision import Event
from weir_operator.controller.times import micro_time

REPORTER = "weir.dev/operator"
_LONGEST_NOTE = 1024  # of the API, which counts bytes


def build_event_spec(
    event: Event, about: Mapping[str, Any] | None, reporter: str, at: float
) -> dict[str, Any]:
    """An `events.k8s.io/v1` Event. Its name contains the time, so that no two have the same."""
    namespace, name = event.query.split("/", 1)
    meta = (about or {}).get("metadata", {})
    regarding = {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": event.kind,
        "namespace": namespace,
        "name": name,
        **({"uid": meta["uid"]} if meta.get("uid") else {}),
    }
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{int(at * 1e6):x}", "namespace": namespace},
        "eventTime": micro_time(at),
        "reportingController": REPORTER,
        "reportingInstance": reporter,
        "action": event.reason,
        "reason": event.reason,
        "regarding": regarding,
        "note": _note(event.message),
        "type": "Warning" if event.warning else "Normal",
    }


def _note(message: str) -> str:
    raw = message.encode()
    if len(raw) <= _LONGEST_NOTE:
        return message
    # the ellipsis has three bytes; all else that `clip` puts there has one, and no more than what it cuts
    return clip(message, len(raw[: _LONGEST_NOTE - 2].decode(errors="ignore")))
