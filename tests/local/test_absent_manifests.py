"""A save of an editor, or a file that is half written, deletes nothing: absence counts when it has lasted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_operator.cli import main
from weir_operator.controller.decision import DeletePlacement
from weir_operator.local.absences import READINGS, SECONDS, Absences
from weir_operator.local.files import ManifestFiles
from weir_operator.local.machine import Machine, Options
from weir_placement.fragments import Knobs

from tests.local.place import MANIFESTS

STREAM, POLICY, QUERY, *NODES = MANIFESTS.format(least=10, cordoned="false").split("---")
ALL = {"clicks", "near", "sums", "n1", "n2"}


class UnsetClock:
    """A clock that goes on when somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()


class ManifestFolder:
    """A folder of manifests, and who reads it."""

    def __init__(self, folder: Path) -> None:
        self.manifests, self.run = folder / "manifests", folder / "run"
        self.manifests.mkdir()
        self.write("query.yaml", QUERY)
        self.write("rest.yaml", STREAM, POLICY)
        self.write("nodes.yaml", *NODES)
        self.clock, self.complaints = UnsetClock(), list[str]()
        self.files = self.build()

    def build(self) -> ManifestFiles:
        """As a controller that starts has it."""
        return ManifestFiles(
            [str(self.manifests)],
            self.run,
            lambda findings: self.complaints.extend(map(str, findings)),
            self.clock,
            self.clock.wait,
        )

    def write(self, name: str, *objects: str) -> None:
        (self.manifests / name).write_text("---".join(objects))

    def names(self) -> set[str]:
        return {o["metadata"]["name"] for o in self.files.objects()}


@pytest.fixture
def folder(tmp_path: Path) -> ManifestFolder:
    it = ManifestFolder(tmp_path)
    assert it.names() == ALL
    return it


def test_an_editors_save_deletes_no_query(tmp_path: Path) -> None:
    for name, text in {"query": QUERY, "rest": "---".join([STREAM, POLICY, *NODES])}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    options = Options((str(tmp_path),), tmp_path / "run", tmp_path, Knobs())
    machine = Machine(options, lambda findings: None)
    machine.cluster.processes.start = lambda *_: None  # type: ignore[method-assign]
    machine.loop.once()
    (before,) = machine.cluster.store.placements()

    saved = (tmp_path / "query.yaml").rename(tmp_path / "query.yaml~")
    assert not any(isinstance(p, DeletePlacement) for p in machine.loop.once().placements)
    saved.rename(tmp_path / "query.yaml")
    machine.loop.once()

    (after,) = machine.cluster.store.placements()
    assert after["spec"] == before["spec"]


def test_what_stays_away_is_deleted(folder: ManifestFolder) -> None:
    (folder.manifests / "query.yaml").unlink()
    for _ in range(4):
        assert folder.names() == ALL
        folder.clock.wait(SECONDS / 4)
    assert folder.names() == ALL - {"sums"}
    assert not folder.complaints


def test_time_alone_is_not_enough(folder: ManifestFolder) -> None:
    (folder.manifests / "query.yaml").unlink()
    for _ in range(READINGS - 1):
        assert folder.names() == ALL
        folder.clock.wait(10 * SECONDS)
    assert folder.names() == ALL - {"sums"}


def test_a_file_that_is_cut_short_keeps_its_nodes(folder: ManifestFolder) -> None:
    folder.write("nodes.yaml", NODES[0])  # at the end of an object: it reads well
    assert folder.names() == ALL
    folder.clock.wait(SECONDS)
    folder.write("nodes.yaml", NODES[0], NODES[1][: NODES[1].index("{allocatable") + 5])
    assert folder.names() == ALL
    folder.clock.wait(SECONDS)
    folder.write("nodes.yaml", NODES[0])
    assert folder.names() == ALL, "nobody knows what was in the file that could not be read"
    folder.clock.wait(SECONDS)
    folder.write("nodes.yaml", *NODES)
    assert folder.names() == ALL


def test_what_changes_beside_an_absence_waits_with_it(folder: ManifestFolder) -> None:
    """A query that gets another name keeps its sink, which two cannot have."""
    folder.write("query.yaml", QUERY.replace("name: sums", "name: totals"))
    assert folder.names() == ALL
    folder.clock.wait(SECONDS)
    folder.names()
    assert folder.names() == ALL - {"sums"} | {"totals"}
    assert not folder.complaints


def test_a_controller_that_starts_within_a_save_waits_for_its_end(folder: ManifestFolder) -> None:
    uids = {o["metadata"]["name"]: o["metadata"]["uid"] for o in folder.files.objects()}
    saved = (folder.manifests / "query.yaml").rename(folder.manifests / "query.yaml~")
    folder.clock.meanwhile = lambda: saved.exists() and saved.rename(folder.manifests / "query.yaml")
    folder.files = folder.build()
    assert {o["metadata"]["name"]: o["metadata"]["uid"] for o in folder.files.objects()} == uids


def test_what_was_deleted_while_no_controller_ran_is_deleted(folder: ManifestFolder) -> None:
    (folder.manifests / "query.yaml").unlink()
    folder.files = folder.build()
    begin = folder.clock.now
    assert folder.names() == ALL - {"sums"}
    assert folder.clock.now - begin >= SECONDS


def test_diff_waits_for_nothing_and_leaves_a_runs_memory_alone(
    folder: ManifestFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = json.loads((folder.run / "objects.json").read_text())
    (folder.manifests / "query.yaml").unlink()
    assert main(["diff", "-f", str(folder.manifests), "--run-folder", str(folder.run)]) == 0
    assert "no difference" in capsys.readouterr().out
    assert json.loads((folder.run / "objects.json").read_text()) == memory


@given(st.lists(st.tuples(st.floats(0, 4), st.sets(st.sampled_from("abc"))), max_size=30))
def test_no_absence_counts_before_its_time(readings: list[tuple[float, set[str]]]) -> None:
    clock = UnsetClock()
    absences, history = Absences(clock), list[tuple[float, set[str]]]()
    for pause, absent in readings:
        clock.wait(pause)
        history.append((clock.now, absent))
        doubtful = absences.doubtful(absent)

        def lasting(name: str) -> bool:
            since = next((i for i, (_, a) in enumerate(reversed(history)) if name not in a), len(history))
            return since >= READINGS and clock.now - history[-since][0] >= SECONDS

        assert doubtful == (not all(map(lasting, absent)))
