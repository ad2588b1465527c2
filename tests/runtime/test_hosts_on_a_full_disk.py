"""A host goes on where nothing can be written for a while, and what an attempt had that could not begin is
gone with it."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from weir_placement.model.fragment import FragmentSpec, Output
from weir_runtime import host_orders
from weir_runtime.cpu import CpuMeter, SharedCpu
from weir_runtime.host_fragment import HostedFragment, Turn
from weir_runtime.host_member import Commons, Member
from weir_runtime.host_orders import FileOrders
from weir_runtime.incarnations import Incarnations
from weir_runtime.locations import lease_at
from weir_runtime.names import read_json

from tests.runtime.support import fragment


class CountedSessions:
    """As `Sessions`, of no application."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self, partitions: int) -> Any:
        self.taken += 1
        return SimpleNamespace(sparkContext=SimpleNamespace(setLocalProperty=lambda name, value: None))

    def give(self, session: Any) -> None:
        self.taken -= 1


def commons(root: Path, sessions: CountedSessions) -> Commons:
    lease = str(root / "host.json")
    host = Incarnations(lease_at(lease), lease, 10.0)
    return Commons(sessions, host, SharedCpu(CpuMeter(os.getpid())), Turn(), 600.0)  # type: ignore[arg-type]


def spec(root: Path) -> FragmentSpec:
    """Its state file is below a file, where nothing can be written."""
    (root / "full").touch()
    return fragment(root, "f", [], [], Output("noop"), state=str(root / "full/f.json"))


def test_what_a_host_cannot_say_now_it_says_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_orders, "_RETRY", 0.0)
    folder = tmp_path / "states"
    folder.touch()
    orders = FileOrders(str(tmp_path / "desired.json"), str(folder / "state.json"))
    orders.say({"fragments": {}})
    assert "what runs cannot be said" in capsys.readouterr().err
    folder.unlink()
    orders.say({"fragments": {}})
    assert (read_json(folder / "state.json") or {})["fragments"] == {}


def test_a_disk_that_stays_full_is_not_asked_at_every_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "states").touch()
    orders = FileOrders(str(tmp_path / "desired.json"), str(tmp_path / "states/state.json"))
    for _ in range(5):
        orders.say({"fragments": {}})
    assert capsys.readouterr().err.count("cannot be said") == 1


def test_an_attempt_that_cannot_begin_leaves_nothing(tmp_path: Path) -> None:
    sessions, spec_here = CountedSessions(), spec(tmp_path)
    common = commons(tmp_path, sessions)
    hosted: HostedFragment = common.fragment(spec_here, lease_at(spec_here.lease))
    with pytest.raises(OSError, match="full"):
        hosted.attempt(sessions)  # type: ignore[arg-type]
    assert sessions.taken == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(hosted.status.fields["port"])), 5)
    assert not hosted.control.folder.exists()


def test_an_attempt_without_a_port_gives_its_session_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> None:
        raise OSError("Too many open files")

    monkeypatch.setattr("weir_runtime.host_fragment.open_server", none_left)
    sessions, spec_here = CountedSessions(), spec(tmp_path)
    with pytest.raises(OSError, match="Too many"):
        commons(tmp_path, sessions).fragment(spec_here, lease_at(spec_here.lease)).attempt(sessions)  # type: ignore[arg-type]
    assert sessions.taken == 0


def test_a_fragment_that_cannot_say_why_it_fails_waits_as_any_other(tmp_path: Path) -> None:
    raw = {"name": "f", "inputs": 7, "state": spec(tmp_path).state}
    member = Member("f-e1", raw, commons(tmp_path, CountedSessions()))
    for _ in range(3):
        member.look()
        member.join()
    assert "FragmentError" in member.error
    assert member.said()["restarts"] == 0, "the second attempt comes after 2 s"
