"""What a query leaves behind on the shared volume goes with it, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_operator.kube.driver_pod import DATA_PATH, RESTRICTED_POD, DriverTemplate
from weir_operator.kube.sweeper import build_sweep_pod_spec
from weir_runtime.installation import VARIABLE, take
from weir_runtime.side_log import side_log_of
from weir_runtime.sweep import main, sweep


def test_only_folders_of_fragments_that_are_gone_and_of_this_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "east")
    for folder in (
        "exchange/a/f1",
        "exchange/a/f2",
        "checkpoints/a/f1",
        "late/a/f3",
        "exchange/b/f1",
        "mine/f1",
    ):
        (tmp_path / folder / "deep").mkdir(parents=True)
        take(tmp_path / folder)
    swept = sweep(tmp_path, "a", frozenset({"f2"}), "east")
    gone = [str(Path(address).relative_to(tmp_path)) for address in swept.gone]
    assert gone == [
        "exchange/a/f1",
        "checkpoints/a/f1",
        "late/a/f3",
    ]
    left = {str(p.relative_to(tmp_path)) for p in tmp_path.glob("*/*") if p.is_dir()}
    assert (tmp_path / "exchange/a/f2/deep").is_dir()
    assert (tmp_path / "exchange/b/f1/deep").is_dir()
    assert "mine/f1" in left
    assert not (tmp_path / "late/a/f3").exists()


def side_log(root: Path, fragment: str, query: str) -> Path:
    """With a late row and a dead letter."""
    folder = root / "late" / "a" / fragment
    for name in ("s/0000000000.arrow", "s/bad/0000000007.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    take(folder)
    if query:
        side_log_of(folder, query)
    return folder


@pytest.fixture
def east(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "east")


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.usefixtures("east")
@pytest.mark.parametrize("started", [True, False])
def test_dead_letters_stay_as_long_as_their_query_does(tmp_path: Path, started: bool) -> None:
    """After an edit those of the plan before: its rows are read by nobody any more."""
    before = side_log(tmp_path, "before", "a/q")
    other = side_log(tmp_path, "other", "a/r")
    if started:
        side_log(tmp_path, "after", "a/q")
    for _ in range(2):
        sweep(tmp_path, "a", frozenset({"after", "other"}), "east")
        assert files(before) == ["owner.json", "query.json", "s/bad/0000000007.parquet"]
    assert len(files(other)) == 4
    sweep(tmp_path, "a", frozenset({"other"}), "east")
    assert not before.exists()
    assert len(files(other)) == 4


@pytest.mark.usefixtures("east")
def test_what_a_version_before_has_left_goes_as_it_did(tmp_path: Path) -> None:
    """It has not recorded whose query's it is."""
    before = side_log(tmp_path, "before", "")
    side_log(tmp_path, "after", "a/q")
    sweep(tmp_path, "a", frozenset({"after"}), "east")
    assert not before.exists()


def test_without_arguments_it_removes_nothing_and_says_how(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 2


def test_the_pod_has_no_rights_and_ends() -> None:
    pod = build_sweep_pod_spec("a", frozenset({"f2", "f1"}), DriverTemplate("image", claim="c"))
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["activeDeadlineSeconds"] == 300
    assert pod["spec"]["securityContext"] == RESTRICTED_POD
    assert pod["spec"]["containers"][0]["args"][-4:] == [DATA_PATH, "a", "f1", "f2"]
