"""What a pod of the operator does about one snapshot, where the query's volume is mounted.

    python -m weir_runtime.snapshots JOB

JOB is a file with a `Job` as JSON, compressed by gzip, in base64. `take` and `read` write what the snapshot
holds into `status.content` of its QuerySnapshot, over the version that was read and for its uid alone.
Every verb may be done again.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.location import Location

from weir_runtime.api_server import KeptConnections, Server
from weir_runtime.installation import current
from weir_runtime.snapshots.manifest import SnapshotError, SnapshotManifest, read_manifest, verify
from weir_runtime.snapshots.places import SnapshotFiles, place_of
from weir_runtime.snapshots.restore import is_restored, restore
from weir_runtime.snapshots.take import NotYet
from weir_runtime.sweep import MESSAGE, TERMINATION

Verb = Literal["take", "read", "remove", "restore"]
PATIENCE, AGAIN = 600.0, 5.0
"""[s] for which a query that cannot be copied yet is waited for, and between two tries."""
TIMEOUT = 10.0
"""[s] of one request."""
CANNOT = 2
"""Exit code: it would fail again."""


@dataclass(frozen=True)
class Job:
    """
    Attributes:
        snapshot: namespace/name below its place.
        place: kind, address, options of a `Location`.
        staging: a folder on the query's volume, where a snapshot of a store is put together.
        uid: of the QuerySnapshot; "" to restore.
        report: namespace/name of the QuerySnapshot.
        specs: the fragments that are copied, or restored, each as `FragmentSpec.to_json` has it.
        about: what the manifest says besides.
    """

    verb: Verb
    snapshot: str
    place: Mapping[str, Any]
    staging: str
    uid: str = ""
    report: str = ""
    specs: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of_text(text: str) -> Job:
        """Of the file's content."""
        raw = json.loads(gzip.decompress(base64.b64decode(text)))
        return Job(**{**raw, "specs": tuple(raw.get("specs", ()))})


ReportJob = Callable[[Job, SnapshotManifest], None]


def perform(job: Job, installation: str, report: ReportJob) -> None:
    """Raises SnapshotError, FragmentError or StoreError."""
    place = place_of(Location(**job.place), job.snapshot, Path(job.staging))
    specs = [FragmentSpec.from_json(text) for text in job.specs]
    if job.verb == "take":
        report(job, _patiently(place, specs, job))
    elif job.verb == "read":
        with place.folder() as folder:
            manifest = read_manifest(folder)
            verify(folder, manifest)
        report(job, manifest)
    elif job.verb == "remove":
        place.remove(job.uid)
    elif not all(is_restored(spec) for spec in specs):
        with place.folder() as folder:
            restore(folder, specs, installation)


def _patiently(place: SnapshotFiles, specs: list[FragmentSpec], job: Job) -> SnapshotManifest:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return place.take(specs, job.about, job.uid)
        except NotYet:
            if time.monotonic() > deadline:
                raise
            time.sleep(AGAIN)


def content_of(manifest: SnapshotManifest) -> dict[str, Any]:
    """What a QuerySnapshot's status says of it."""
    size = sum(length for length, _ in manifest.files.values())
    return {"about": manifest.about, "taken": manifest.taken, "files": len(manifest.files), "bytes": size}


class Connections(Protocol):
    """As `KeptConnections`."""

    def send(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        """Status and body of the answer. Raises OSError without one."""
        ...


def report_to(requests: Connections) -> ReportJob:
    """Writes to the API server. Its result raises OSError, and SnapshotError when the object is another."""

    def report(job: Job, manifest: SnapshotManifest) -> None:
        namespace, name = job.report.split("/", 1)
        path = f"/apis/weir.dev/v1alpha1/namespaces/{namespace}/querysnapshots/{name}"
        code, body = requests.send("GET", path)
        present = json.loads(body) if code == 200 else {}
        if code == 404 or (code == 200 and present["metadata"]["uid"] != job.uid):
            raise SnapshotError(f"QuerySnapshot {job.report} of uid {job.uid} is gone")
        if code == 200:
            status = {**(present.get("status") or {}), "content": content_of(manifest)}
            code, body = requests.send("PUT", f"{path}/status", json.dumps({**present, "status": status}))
        if code not in (200, 201):
            raise OSError(f"QuerySnapshot {job.report}: the API server answered {code}: {body!r:.500}")

    return report


def main(arguments: list[str]) -> int:
    """One job; what it cannot do is said to the kubelet too, from which the operator has it."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return CANNOT
    job = Job.of_text(Path(arguments[0]).read_text())

    def report(job: Job, manifest: SnapshotManifest) -> None:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        report_to(KeptConnections(Server.of_pod(host, port), TIMEOUT))(job, manifest)

    try:
        perform(job, current(), report)
    except (SnapshotError, FragmentError) as error:
        print(error, file=sys.stderr)
        if TERMINATION.exists():
            TERMINATION.write_text(str(error)[:MESSAGE])
        return CANNOT
    print(f"{job.verb} {job.snapshot}: done")
    return 0
