"""kubectl on the cluster under test, and waiting for what it shows."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("WEIR_CACHE", Path.home() / ".cache" / "weir"))
CLUSTER = os.environ.get("WEIR_CLUSTER", "weir")
WORKERS = [f"{CLUSTER}-worker", f"{CLUSTER}-worker2", f"{CLUSTER}-worker3"]
ENVIRONMENT = os.environ | {
    "KUBECONFIG": str(CACHE / f"kubeconfig-{CLUSTER}"),
    "PATH": f"{CACHE}/bin:{os.environ['PATH']}",
}
Manifest = dict[str, Any]
PATIENCE = 180.0  # [s]
UNREACHABLE = ("TLS handshake timeout", "connection refused", "i/o timeout", "Client.Timeout exceeded")


def finished(
    *command: str, stdin: str | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """A command that has ended. An API server that does not answer for a while is asked again: the machine
    may be busy with starting what the test wants."""
    deadline = time.monotonic() + PATIENCE
    while True:
        process = subprocess.run(
            command, input=stdin, capture_output=True, text=True,
            env=ENVIRONMENT, cwd=REPOSITORY, timeout=timeout, check=False,
        )  # fmt: skip
        away = any(words in process.stderr for words in UNREACHABLE)
        if process.returncode == 0 or not away or time.monotonic() > deadline:
            return process
        time.sleep(2)


def run(*command: str, stdin: str | None = None, timeout: float = 120) -> str:
    """Standard output of a command; AssertionError with both outputs when it fails."""
    process = finished(*command, stdin=stdin, timeout=timeout)
    assert process.returncode == 0, (
        f"{' '.join(command)}: {process.returncode}\n{process.stdout}\n{process.stderr}"
    )
    return process.stdout


def refusal(*command: str, stdin: str | None = None) -> str:
    """What a command that must fail says is wrong."""
    process = finished(*command, stdin=stdin)
    assert process.returncode != 0, f"{' '.join(command)}: not refused: {process.stdout}"
    return process.stderr


def kubectl(*arguments: str, stdin: str | None = None, timeout: float = 120) -> str:
    """Standard output of kubectl."""
    return run("kubectl", *arguments, stdin=stdin, timeout=timeout)


def get(*arguments: str) -> list[Manifest]:
    """Objects that `kubectl get` lists; one that is named and not there: none."""
    shown = json.loads(kubectl("get", *arguments, "--ignore-not-found", "-o", "json") or '{"items": []}')
    objects: list[Manifest] = shown.get("items", [shown])
    return objects


def apply(manifests: Sequence[Mapping[str, Any]], force: bool = True) -> None:
    """Server-side apply, as a GitOps tool would; without `force` a field that is another's is an error."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    kubectl("apply", "--server-side", f"--force-conflicts={str(force).lower()}", "-f", "-", stdin=text)


def wait_until(seconds: float, what: str, holds: Callable[[], object], every: float = 2) -> Any:
    """The first true value of `holds()`. AssertionError that says `what` did not come within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(every)


def condition(manifest: Manifest, kind: str) -> Manifest:
    """A condition of `status.conditions`; empty when it is not there."""
    present = manifest.get("status", {}).get("conditions", [])
    return next((c for c in present if c["type"] == kind), {})
