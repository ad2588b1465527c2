"""Kinds of faults. Each is a context: it strikes on entry, and is mended at the end."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.cell import Cell, Remote
from tests.chaos.life import Life

Strike = Callable[[Cell, Life, random.Random], AbstractContextManager[None]]


@dataclass(frozen=True)
class FaultKind:
    """`lasts` between so many seconds; `remote`: it strikes only queries with a broker or store; `alone`:
    what of a cell only one fault at a time can take. A process that was stopped at a point goes on after the
    strike, unless the fault is `about_the_process`. `on_batches`: it can hit a batch."""

    strike: Strike
    lasts: tuple[float, float]
    remote: bool = False
    alone: str = ""
    about_the_process: bool = False
    on_batches: bool = True


@contextmanager
def kill(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """The process, its JVM, or both."""
    part = chance.choice(["process", "JVM", "both"])
    pid = life.pid
    if part == "JVM":
        with suppress(OSError):  # another fault was quicker
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
        life.signal(signal.SIGCONT)
    else:
        life.signal(signal.SIGKILL, session=part == "both")
    yield


@contextmanager
def pause(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """For longer than a lease lasts."""
    life.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        life.signal(signal.SIGCONT)


@contextmanager
def kill_controller(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """Until it is started again."""
    cell.controller.kill()
    cell.controller.wait()
    yield
    cell.start_controller()


def remote_of(cell: Cell) -> Remote:
    """Of a query whose flow is not a folder."""
    assert cell.remote is not None, f"{cell.query} has no broker and no store"
    return cell.remote


@contextmanager
def cut(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """Between the query and its broker or store: packets vanish, or connections are refused."""
    wire = remote_of(cell).wire
    chance.choice([wire.cut, wire.refuse])()
    try:
        yield
    finally:
        wire.mend()


@contextmanager
def slow_link(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """Every piece of up to 64 KiB comes later."""
    wire = remote_of(cell).wire
    wire.slow(chance.uniform(0.1, 1.0))
    try:
        yield
    finally:
        wire.mend()


@contextmanager
def full_disk(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """Checkpoints, flows, sinks, leases and states are on it."""
    cell.disk.fill()
    try:
        yield
    finally:
        cell.disk.clear()


@contextmanager
def slow_disk(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """Writes wait for seconds, get through for a moment, and wait again."""
    yield
    for _ in range(chance.randint(1, 3)):
        cell.disk.stall(chance.uniform(1.0, 6.0)).wait()


@contextmanager
def step_clock(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """Of the controller and all fragments, and back: by a little, or by hours, either way."""
    cell.clock.step(chance.choice([-1, 1]) * chance.choice([1.0, 60.0, 7200.0]) * chance.random())
    try:
        yield
    finally:
        cell.clock.step(0.0)


@contextmanager
def restart_server(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """The broker or the store is killed, and comes back with its data."""
    server = remote_of(cell).server
    server.stop()
    yield
    server.start_again()


@contextmanager
def lose_volume(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """The checkpoint is gone, with or without the process, and comes back after a while, as a volume that was
    not mounted: what was written in its place is gone then, and so is who had it open."""
    away = life.checkpoints.with_name(f".{life.fragment}.away")
    life.checkpoints.rename(away)
    if chance.random() < 0.5:
        life.signal(signal.SIGKILL)
    try:
        yield
    finally:
        while away.exists():
            kill_lives(cell, life.fragment)
            shutil.rmtree(life.checkpoints, ignore_errors=True)
            with suppress(OSError):  # somebody has begun there again
                away.rename(life.checkpoints)
        kill_lives(cell, life.fragment)


def kill_lives(cell: Cell, fragment: str) -> None:
    """Those of a fragment."""
    for life in cell.lives():
        if life.fragment == fragment:
            life.signal(signal.SIGKILL)


@contextmanager
def pause_in_a_move(cell: Cell, life: Life, chance: random.Random) -> Generator[None]:
    """Its node is cordoned, and another process takes over when the lease has expired."""
    life.signal(signal.SIGSTOP)
    cell.cordon(life.node)
    try:
        yield
    finally:
        life.signal(signal.SIGCONT)
        cell.cordon()


KINDS = {
    "kill": FaultKind(kill, (0.0, 0.0), about_the_process=True),
    "kill of the controller": FaultKind(kill_controller, (0.0, 5.0), alone="controller", on_batches=False),
    "pause": FaultKind(pause, (11.0, 16.0), about_the_process=True),
    "pause in a move": FaultKind(pause_in_a_move, (20.0, 40.0), alone="nodes", about_the_process=True),
    "cut network": FaultKind(cut, (2.0, 20.0), remote=True, alone="wire"),
    "slow network": FaultKind(slow_link, (5.0, 15.0), remote=True, alone="wire"),
    "full disk": FaultKind(full_disk, (2.0, 10.0), alone="disk"),
    "slow disk": FaultKind(slow_disk, (0.0, 0.0), alone="disk"),
    "clock step": FaultKind(step_clock, (3.0, 12.0), alone="clock"),
    "restart of the broker or store": FaultKind(restart_server, (0.0, 8.0), remote=True, alone="wire"),
    "lost volume": FaultKind(lose_volume, (3.0, 20.0), alone="disk", about_the_process=True),
}
