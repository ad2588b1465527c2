"""A fragment sees that a Secret of its pod was rotated, as the kubelet brings it: by links that change."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from weir_runtime import secrets


def mount(folder: Path, name: str, generation: str, **values: str) -> None:
    """As a kubelet does: a folder of values, a link to that which is swapped whole, a link for each key."""
    place = folder / name
    data = place / f"..{generation}"
    data.mkdir(parents=True)
    for key, value in values.items():
        (data / key).write_text(value)
    fresh = place / "..data_tmp"
    fresh.symlink_to(data.name)
    fresh.rename(place / "..data")
    for key in values:
        if not (place / key).is_symlink():
            (place / key).symlink_to(f"..data/{key}")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "PERIOD", 0.01)


@pytest.mark.usefixtures("quick")
def test_another_value_is_told_once(tmp_path: Path) -> None:
    mount(tmp_path, "login", "one", username="anna", password="old")
    reported, stop, count = threading.Event(), threading.Event(), 0

    def rotated() -> None:
        nonlocal count
        count += 1
        reported.set()

    secrets.watch(rotated, stop, tmp_path)
    mount(tmp_path, "login", "two", username="anna", password="old")  # the same again: nothing to tell
    assert not reported.wait(0.2)
    mount(tmp_path, "login", "three", username="anna", password="new")
    assert reported.wait(10)
    mount(tmp_path, "login", "four", username="anna", password="newer")
    assert not stop.wait(0.1)
    assert count == 1


@pytest.mark.usefixtures("quick")
def test_a_file_that_is_away_for_a_moment_is_no_rotation(tmp_path: Path) -> None:
    mount(tmp_path, "login", "one", password="old")
    rotated, stop = threading.Event(), threading.Event()
    (tmp_path / "login" / "..data").unlink()
    secrets.watch(rotated.set, stop, tmp_path)
    (tmp_path / "login" / "..data").symlink_to("..one")
    assert not rotated.wait(0.2)
    stop.set()


def test_without_secrets_nobody_looks(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    secrets.watch(lambda: None, threading.Event(), tmp_path / "none")
    assert set(threading.enumerate()) <= before


def test_a_key_that_comes_changes_the_digest(tmp_path: Path) -> None:
    mount(tmp_path, "login", "one", password="x")
    before = secrets.digest(tmp_path)
    mount(tmp_path, "login", "two", password="x", username="y")
    assert secrets.digest(tmp_path) not in ("", before)
