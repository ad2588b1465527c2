"""What holds of a snapshot's jobs wherever its place is: played on a folder here, on a real store in
tests/store."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from weir_placement.model.fragment import FragmentSpec, Output
from weir_placement.model.location import Location
from weir_runtime.snapshots.job import Job, content_of, perform
from weir_runtime.snapshots.manifest import SnapshotError, SnapshotManifest
from weir_runtime.snapshots.restore import is_restored

from tests.runtime.snapshot_model import Running
from tests.runtime.support import fragment

ABOUT = {"query": "a/q"}


class Copies:
    """Two fragments that run, and a place for their snapshots."""

    def __init__(self, root: Path, place: Location) -> None:
        self.root, self.place = root, place
        first = Running(root / "first", "f0", None)
        self.running = [first, Running(root / "first", "f1", first, root / "out")]
        self.reports: list[dict[str, Any]] = []
        self.go_on()

    def go_on(self) -> None:
        for _ in range(20):
            for one in self.running:
                one.step()

    def do(self, verb: Any, uid: str = "u1", specs: list[FragmentSpec] | None = None) -> dict[str, Any]:
        """Its report, if it makes any."""
        texts = tuple(spec.to_json() for spec in specs or [one.spec for one in self.running])
        place, staging = asdict(self.place), str(self.root / "staging")
        job = Job(verb, "a/s", place, staging, uid, "b/r", texts, ABOUT)
        self.reports.clear()
        perform(job, "here", self._report)
        return self.reports[-1] if self.reports else {}

    def _report(self, job: Job, manifest: SnapshotManifest) -> None:
        assert job.report == "b/r"
        self.reports.append(content_of(manifest))

    def successors(self) -> list[FragmentSpec]:
        specs = [one.spec for one in self.running]
        flow = Location("folder", str(self.root / "second" / "flow"))
        read = replace(specs[1].inputs[0], flow=flow)
        return [
            fragment(self.root / "second", "n0", specs[0].inputs, [], Output("exchange", flow=flow)),
            fragment(self.root / "second", "n1", [read], [], specs[1].output),
        ]


def taken_read_restored_and_removed(scene: Copies) -> None:
    taken = scene.do("take")
    assert taken["about"]["query"] == "a/q"
    assert taken["about"]["uid"] == "u1"
    assert taken["files"] > 10
    assert taken["bytes"] > taken["files"]
    scene.go_on()
    assert scene.do("take") == taken, "after a kill it is the same snapshot, and not a later one"
    with pytest.raises(SnapshotError, match="there is one already"):
        scene.do("take", uid="u2")
    assert scene.do("read", uid="u3") == taken

    specs = scene.successors()
    scene.do("restore", specs=specs)
    assert all(map(is_restored, specs))
    scene.do("remove", uid="u2")
    assert scene.do("read") == taken, "another one's stays"
    scene.do("remove")
    scene.do("remove")
    with pytest.raises(SnapshotError, match="is not complete"):
        scene.do("read")
    scene.do("restore", specs=specs)  # of what is restored nothing is asked any more
    assert not list((scene.root / "staging").glob("*/*"))
    assert scene.do("take", uid="u2")["about"]["uid"] == "u2", "its name is free again"
