"""One run: a seed, faults, then quiet, the end of the sources, and the audit."""

from __future__ import annotations

import dataclasses
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weir_runtime.faults import IN_A_LIFE

from tests.chaos.cell import Cell, wait_for
from tests.chaos.faults import KINDS
from tests.chaos.life import Life
from tests.chaos.testbed import Testbed

IN_A_BATCH = IN_A_LIFE[IN_A_LIFE.index("before-plan") : IN_A_LIFE.index("before-commit") + 1]
AIMED = 0.8
"""Share of faults that wait until their process has come to a point within a batch."""

AIM = 20.0
"""[s] After that a fault strikes wherever its process is."""

STUCK = 420.0
"""[s] A fragment that has done no batch for so long is stuck."""

SIDE_BY_SIDE = 4
"""Faults at the same time, at most."""


@dataclass
class StruckFault:
    """`seconds` between strike and mend, `recovery` from there until the fragment has planned and done a
    further batch; `aimed`: the point that it waited for; `in_batch`: one was planned and not committed."""

    kind: str
    fragment: str
    aimed: str
    in_batch: bool = False
    seconds: float = 0.0
    recovery: float = 0.0


@dataclass
class Strike:
    """A fault on its way; `mended`: it is over, and its fragment is on its way back."""

    cell: Cell
    fault: StruckFault
    mended: bool = False


class Stuck(Exception):
    """Fragments that do nothing more, and what they say."""


def run(
    seed: int,
    faults: int,
    root: Path,
    kinds: list[str],
    tell: Callable[[StruckFault], None],
    enough: Callable[[], bool],
) -> dict[str, Any]:
    """Its result as a JSON object; the run's files stay below `root`. Ends early when there is `enough`."""
    chance, begin, testbed = random.Random(seed), time.time(), Testbed(root)
    struck: list[StruckFault] = []
    result: dict[str, Any] = {"seed": seed, "faults": [], "audit": {}, "stuck": ""}
    try:
        if not testbed.wait_for_all(Cell.delivered, STUCK):
            raise Stuck(f"not every query has delivered rows in {STUCK:.0f} s: {reports(testbed.lives())}")
        strike(testbed, faults, kinds, chance, struck, tell, enough)
        testbed.finish()
        if not testbed.wait_for_all(Cell.finished, STUCK):
            raise Stuck(f"not at the end {STUCK:.0f} s after that of the sources: {reports(testbed.lives())}")
    except Stuck as error:
        result["stuck"] = str(error)
    finally:
        testbed.stop()
    result["faults"] = [dataclasses.asdict(fault) for fault in struck]
    result["seconds"] = round(time.time() - begin, 1)
    for name, verdict in ((cell.query, cell.verdict()) for cell in testbed.cells):
        counts = [verdict.rows, verdict.missing, verdict.doubled, verdict.wrong]
        result["audit"][name] = dict(zip(("rows", "missing", "doubled", "wrong"), counts, strict=True))
        if not verdict.good:
            print(f"seed {seed}, {name}: {verdict}: {verdict.examples}", flush=True)
    return result


def strike(
    testbed: Testbed,
    faults: int,
    kinds: list[str],
    chance: random.Random,
    struck: list[StruckFault],
    tell: Callable[[StruckFault], None],
    enough: Callable[[], bool],
) -> None:
    """So many, several at a time; a fragment gets its next one when it has done a batch after the last.
    Appends each to `struck` when it is over. Raises Stuck."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        active: dict[Future[None], Strike] = {}
        deck: list[str] = []  # each kind once, so that the quick ones are no more than the others
        while active or (len(struck) < faults and not enough()):
            taken = {
                (strike.cell.query, KINDS[strike.fault.kind].alone)
                for strike in active.values()
                if KINDS[strike.fault.kind].alone and not strike.mended
            }
            for cell in testbed.cells:
                if (cell.query, "controller") not in taken:
                    cell.supervise()
            if len(active) < SIDE_BY_SIDE and len(struck) + len(active) < faults and not enough():
                busy = {s.fault.fragment for s in active.values()}
                lives = [(cell, life) for cell, life in testbed.lives() if life.fragment not in busy]
                next_one = draw(lives, chance, deck, kinds, taken)
                if next_one:
                    active[pool.submit(befall, next_one, random.Random(chance.random()))] = next_one
            over, _ = wait(active, timeout=chance.uniform(0.1, 2.0), return_when=FIRST_COMPLETED)
            for future in over:
                fault = active.pop(future).fault
                future.result()
                struck.append(fault)
                tell(fault)


def draw(
    lives: list[tuple[Cell, Life]],
    chance: random.Random,
    deck: list[str],
    kinds: list[str],
    taken: set[tuple[str, str]],
) -> Strike | None:
    """The next fault of the deck that one of these processes can have, and that takes no part of a cell that
    is `taken`. A deck of which none fits gets the next one beneath it."""
    for _ in range(2):
        for kind in deck:
            fitting = [
                (cell, life)
                for cell, life in lives
                if (cell.remote or not KINDS[kind].remote) and (cell.query, KINDS[kind].alone) not in taken
            ]
            if fitting:
                deck.remove(kind)
                aim = KINDS[kind].on_batches and chance.random() < AIMED
                cell, life = chance.choice(fitting)
                return Strike(
                    cell, StruckFault(kind, life.fragment, chance.choice(IN_A_BATCH) if aim else "")
                )
        if len(deck) < len(kinds):
            deck += chance.sample(kinds, len(kinds))
    return None


def befall(strike: Strike, chance: random.Random) -> None:
    """One fault from its aim until its fragment has done a batch after it. Raises Stuck."""
    cell, fault, kind = strike.cell, strike.fault, KINDS[strike.fault.kind]
    while True:  # until there is a process that other faults have not killed meanwhile
        life = wait_for(lambda: cell.life(fault.fragment), STUCK)
        if life is None:
            raise Stuck(f"{fault.fragment}: no process to strike for {STUCK:.0f} s")
        is_held = bool(fault.aimed) and hold(cell, life, fault.aimed)
        before = life.in_a_batch
        if not life.gone:
            break
    begin = time.monotonic()
    with kind.strike(cell, life, chance):
        fault.in_batch = kind.on_batches and before and (life.in_a_batch or not life.checkpoints.exists())
        if is_held and not kind.about_the_process:
            life.signal(signal.SIGCONT, session=False)
        time.sleep(chance.uniform(*kind.lasts))
    over = time.monotonic()
    strike.mended = True
    fault.seconds = round(over - begin, 1)
    planned = -2

    def goes_on() -> bool:
        nonlocal planned
        now = cell.life(fault.fragment)
        if now and planned < -1:
            planned = now.planned
        return now is not None and now.committed > planned

    if not wait_for(goes_on, STUCK):
        own = [(cell, life) for life in cell.lives() if life.fragment == fault.fragment]
        raise Stuck(f"{fault.fragment}: {STUCK:.0f} s after {fault.kind}: {reports(own)}")
    fault.recovery = round(time.monotonic() - over, 1)


def hold(cell: Cell, life: Life, point: str) -> bool:
    """Whether the process stands at the point."""
    wish = cell.holds / str(life.pid)
    temporary = cell.holds / f".{life.pid}"
    temporary.write_text(point)
    temporary.rename(wish)
    deadline = time.monotonic() + AIM
    while time.monotonic() < deadline:
        if not wish.exists() and life.stands:
            return True
        time.sleep(0.01)
    wish.unlink(missing_ok=True)
    time.sleep(0.1)
    return life.stands


def reports(lives: list[tuple[Cell, Life]]) -> str:
    """Each process's phase and error."""
    return "; ".join(
        f"{life.fragment}: {life.report.get('phase')} {life.report.get('error')}" for _, life in lives
    )
