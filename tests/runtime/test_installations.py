"""Two installations share a volume: a sweep takes what is recorded as its own, and says what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from weir_placement.model.fragment import FragmentError
from weir_runtime import installation
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.installation import OWNER, VARIABLE, take
from weir_runtime.names import write_whole
from weir_runtime.sweep import main, sweep

from tests.runtime.flows import DESCRIPTION
from tests.runtime.support import files_output, fragment, source, state

NONE: frozenset[str] = frozenset()


def leave(root: Path, fragment: str, own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process of an installation leaves on a volume, in namespace a."""
    monkeypatch.setenv(VARIABLE, own)
    for what in ("checkpoints", "late"):
        (root / what / "a" / fragment).mkdir(parents=True, exist_ok=True)
        take(root / what / "a" / fragment)
    FolderWriter(str(root / "exchange/a" / fragment), 1).describe(DESCRIPTION)


def there(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.glob("*/a/*") if path.name != OWNER}


def test_a_sweep_takes_its_own_and_says_what_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(tmp_path, "f1", "east", monkeypatch)
    leave(tmp_path, "f2", "west", monkeypatch)
    (tmp_path / "exchange/a/x").mkdir()
    swept = sweep(tmp_path, "a", NONE, "east")
    assert there(tmp_path) == {"exchange/a/f2", "checkpoints/a/f2", "late/a/f2", "exchange/a/x"}
    assert [Path(gone).relative_to(tmp_path).parts[0] for gone in swept.gone] == [
        "exchange",
        "checkpoints",
        "late",
    ]
    assert swept.left == [
        f"{tmp_path}/exchange/a/f2: installation west has it",
        f"{tmp_path}/exchange/a/x: nothing says whose it is",
        f"{tmp_path}/checkpoints/a/f2: installation west has it",
        f"{tmp_path}/late/a/f2: installation west has it",
    ]


def test_what_an_earlier_version_left_is_its_writers_to_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(tmp_path, "f1", "", monkeypatch)
    assert sweep(tmp_path, "a", NONE, "east").gone == []
    leave(tmp_path, "f1", "east", monkeypatch)
    assert len(sweep(tmp_path, "a", NONE, "east").gone) == 3
    assert there(tmp_path) == set()


def test_nobody_goes_on_in_what_another_installation_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(tmp_path, "f1", "east", monkeypatch)
    with pytest.raises(FragmentError, match="f1: it belongs to installation east, this is west; give"):
        leave(tmp_path, "f1", "west", monkeypatch)
    monkeypatch.setenv(VARIABLE, "west")
    with pytest.raises(FragmentError, match=r"exchange .*f1: it belongs to installation east"):
        FolderWriter(str(tmp_path / "exchange/a/f1"), 1).describe({"another": 1})
    assert json.loads((tmp_path / "exchange/a/f1/stream.json").read_text()) == DESCRIPTION
    leave(tmp_path, "f1", "", monkeypatch)  # a process that was started by hand


def test_what_fragments_share_goes_with_the_last_of_any_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(tmp_path, "f1", "east", monkeypatch)
    leave(tmp_path, "f2", "west", monkeypatch)
    (tmp_path / "late/a/.times").mkdir()
    sweep(tmp_path, "a", NONE, "east")
    assert (tmp_path / "late/a/.times").exists()
    sweep(tmp_path, "a", NONE, "west")
    assert not (tmp_path / "late/a/.times").exists()


def test_a_sweep_of_nobody_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    leave(tmp_path, "f1", "east", monkeypatch)
    monkeypatch.delenv(VARIABLE)
    assert main([str(tmp_path), "a"]) == 2
    assert "WEIR_INSTALLATION: missing" in capsys.readouterr().err
    assert len(there(tmp_path)) == 3


def test_what_was_left_is_in_the_pods_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "checkpoints/a/x").mkdir(parents=True)
    log = tmp_path / "termination-log"
    log.touch()
    monkeypatch.setattr("weir_runtime.sweep.TERMINATION", log)
    monkeypatch.setenv(VARIABLE, "east")
    assert main([str(tmp_path), "a"]) == 0
    line = f"{tmp_path}/checkpoints/a/x: nothing says whose it is"
    assert log.read_text() == line
    assert capsys.readouterr().out == f"left {line}\n"


def test_a_run_folder_keeps_its_name(tmp_path: Path) -> None:
    first = installation.of_run(tmp_path / "one")
    assert installation.of_run(tmp_path / "one") == first
    assert installation.of_run(tmp_path / "two") != first


def test_a_process_ends_before_it_starts_anything_where_another_installation_was(tmp_path: Path) -> None:
    spec = fragment(tmp_path, "f", [source("a", tmp_path / "a")], [], files_output(tmp_path / "out", "k"))
    write_whole(Path(spec.checkpoint) / OWNER, '{"installation": "west"}')
    path = tmp_path / "spec.json"
    path.write_text(spec.to_json())
    ended = subprocess.run(
        [sys.executable, "-m", "weir_runtime", str(path)],
        env={**os.environ, VARIABLE: "east"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 2
    assert f"folder {spec.checkpoint}: it belongs to installation west, this is east" in ended.stderr
    assert state(spec)["phase"] == "failed"
