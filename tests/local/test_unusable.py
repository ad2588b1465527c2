"""Places of files that `weir run` can neither read nor write are refused before anything is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from weir_operator.local.unusable import unusable
from weir_operator.manifests.load import load
from weir_operator.manifests.site import HERE

from tests.local.place import MANIFESTS

SOURCE, SINK = "in/clicks", "out/sums"


def messages(folder: Path, text: str) -> list[str]:
    (folder / "all.yaml").write_text(text)
    objects = load([str(folder / "all.yaml")], site=HERE).objects
    return [finding.message for finding in unusable(objects, folder)]


@pytest.fixture
def text() -> str:
    manifests = MANIFESTS.format(least="10", cordoned="false")
    assert (manifests.count(f"uri: {SOURCE}"), manifests.count(f"uri: {SINK}")) == (1, 1)
    return manifests


def test_places_that_can_be_made_are_well_and_stay_as_they_are(tmp_path: Path, text: str) -> None:
    assert messages(tmp_path, text) == []
    assert [path.name for path in tmp_path.iterdir()] == ["all.yaml"]
    (tmp_path / SINK).mkdir(parents=True)
    (tmp_path / SOURCE).mkdir(parents=True)
    assert messages(tmp_path, text) == []
    assert list((tmp_path / SINK).iterdir()) == []


def a_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def to_itself(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (
            lambda root: a_file(root / SOURCE / "0000000000.csv"),
            (SOURCE, f"{SOURCE}/0000000000.csv"),
            "spec.source.files.uri: in/clicks/0000000000.csv is a file; write its folder, in/clicks",
        ),
        (
            lambda root: a_file(root / "in"),
            (SOURCE, SOURCE),
            "spec.source.files.uri: in is a file; write a folder",
        ),
        (
            lambda root: a_file(root / SINK),
            (SINK, SINK),
            "spec.sink.files.uri: out/sums is a file; write a folder",
        ),
        (
            lambda root: a_file(root / "out"),
            (SINK, SINK),
            "spec.sink.files.uri: out is a file; write a folder",
        ),
        (
            lambda root: None,
            (SINK, "/proc/out"),
            "spec.sink.files.uri: /proc cannot be written (No such file or directory); write another folder",
        ),
        (
            lambda root: to_itself(root / SINK),
            (SINK, SINK),
            "spec.sink.files.uri: out/sums cannot be written (Too many levels of symbolic links); "
            "write another folder",
        ),
    ],
)
def test_a_place_that_cannot_be_is_told_by_its_field(
    tmp_path: Path, text: str, make: Callable[[Path], object], change: tuple[str, str], message: str
) -> None:
    make(tmp_path)
    assert messages(tmp_path, text.replace(f"uri: {change[0]}", f"uri: {change[1]}")) == [message]


def test_dead_letters_are_written_too(tmp_path: Path, text: str) -> None:
    a_file(tmp_path / "dead")
    letters = "source: {deadLetter: {files: {uri: dead}}, files: "
    assert text.count("source: {files: ") == 1
    assert messages(tmp_path, text.replace("source: {files: ", letters)) == [
        "spec.source.deadLetter.files.uri: dead is a file; write a folder"
    ]


def test_a_query_that_is_suspended_writes_nothing(tmp_path: Path, text: str) -> None:
    a_file(tmp_path / SINK)
    (query,) = (part for part in text.split("---\n") if "StreamQuery" in part)
    assert messages(tmp_path, text.replace(query, query.replace("spec:\n", "spec:\n  suspend: true\n"))) == []
