"""`weir snapshot` in a cluster: a QuerySnapshot is made, and waited for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import monotonic, sleep
from typing import Any

from weir_operator.api.base import API_VERSION
from weir_operator.cli.exit_codes import BAD_INPUT, DIFFERENT, OK
from weir_operator.controller.query_snapshots import KIND
from weir_operator.controller.raw_fields import part, parts
from weir_operator.controller.snapshot_schedules import DUE
from weir_operator.kube.api import Api, NoAnswer

LOOK = 1.0  # [s] between two looks at the status


def take_in_cluster(api: Api, query: str, title: str, keep: int | None, timeout: float) -> int:
    """The exit code: OK when it is complete, DIFFERENT when it is not within `timeout` [s], BAD_INPUT when it
    cannot be taken; what is wrong is on standard error. Raises ApiError."""
    namespace, name = query.split("/", 1)
    manifest = api.get("StreamQuery", namespace, name)
    if manifest is None:
        print(f"{query}: no such query; see `weir status`", file=sys.stderr)
        return BAD_INPUT
    if not api.create(snapshot_of(manifest, title)):
        print(f"--name: there is a QuerySnapshot {namespace}/{title} already", file=sys.stderr)
        return BAD_INPUT
    condition = _wait(api, namespace, title, timeout)
    if condition.get("type") == "Stalled":
        print(f"{namespace}/{title}: {condition.get('message')}", file=sys.stderr)
        return BAD_INPUT
    if condition.get("type") != "Ready":
        message = condition.get("message") or "no operator has taken it up; see `kubectl get pods -A`"
        how = f"to wait for it: kubectl wait -n {namespace} --for=condition=Ready querysnapshot/{title}"
        print(f"{namespace}/{title}: not complete within {timeout:g} s: {message}; {how}", file=sys.stderr)
        return DIFFERENT
    status = _status(api, namespace, title)
    files = part(status, "content").get("files")
    print(f"{query}: snapshot {namespace}/{title}: {files} files, {status.get('size')}")
    for old in _older(api, namespace, name)[keep:] if keep else ():
        api.merge(KIND, namespace, old, {"spec": {"keepFor": "0s"}})
        print(f"{query}: the operator removes snapshot {namespace}/{old}")
    return OK


def snapshot_of(query: Mapping[str, Any], title: str) -> dict[str, Any]:
    """The QuerySnapshot of a query: where those of its schedule lie."""
    meta = query["metadata"]
    place = part(part(part(query, "spec"), "snapshots"), "place")
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"namespace": meta["namespace"], "name": title},
        "spec": {"query": meta["name"], **({"place": place} if place else {})},
    }


def _wait(api: Api, namespace: str, title: str, timeout: float) -> Mapping[str, Any]:
    """The condition that ends it: Ready or Stalled, or at the end of the time whatever it is at; what it
    waits for is shown as it changes."""
    deadline, shown = monotonic() + timeout, ""
    while True:
        present = parts(_status(api, namespace, title), "conditions")
        true = {c["type"]: c for c in present if c.get("status") == "True"}
        if end := true.get("Ready") or true.get("Stalled"):
            return end
        under_way = true.get("Reconciling") or {}
        if (message := str(under_way.get("message") or "")) not in ("", shown):
            shown = message
            print(f"{namespace}/{title}: {message}", file=sys.stderr)
        if monotonic() >= deadline:
            return under_way
        sleep(LOOK)


def _status(api: Api, namespace: str, title: str) -> Mapping[str, Any]:
    """Empty while there is none, and when the API server does not answer for a while."""
    try:
        return part(api.get(KIND, namespace, title) or {}, "status")
    except NoAnswer:
        return {}


def _older(api: Api, namespace: str, query: str) -> list[str]:
    """Complete snapshots of a query, the newest first; those of its schedule have a number of their own."""
    own = [
        (part(manifest, "status"), manifest["metadata"]["name"])
        for manifest in api.list(KIND, namespace)
        if part(manifest, "spec").get("query") == query
        and DUE not in part(manifest["metadata"], "annotations")
    ]
    complete = [(float(status["content"]["taken"]), name) for status, name in own if status.get("content")]
    return [name for _, name in sorted(complete, reverse=True)]
