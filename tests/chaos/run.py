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

from tests.chaos.faults import KINDS
from tests.chaos.testbed import Life, Testbed

IN_A_BATCH = IN_A_LIFE[IN_A_LIFE.index("before-plan") : IN_A_LIFE.index("before-commit") + 1]
AIMED = 0.5
"""Share of faults that wait until their process has come to a point within a batch."""

AIM = 20.0
"""[s] After that a fault strikes wherever its process is."""

STUCK = 420.0
"""[s] A fragment that has done no batch for so long is stuck."""

SIDE_BY_SIDE = 4
"""Faults at the same time, at most."""


@dataclass
class Fault:
    """`seconds` between strike and mend, `recovery` from there until the fragment has planned and done a
    further batch; `aimed`: the point that it waited for; `in_batch`: one was planned and not committed."""

    kind: str
    fragment: str
    aimed: str
    in_batch: bool = False
    seconds: float = 0.0
    recovery: float = 0.0


class Stuck(Exception):
    """Fragments that do nothing more, and what they say."""


def run(
    seed: int,
    faults: int,
    root: Path,
    kinds: list[str],
    tell: Callable[[Fault], None],
    enough: Callable[[], bool],
) -> dict[str, Any]:
    """Its result as a JSON object; the run's files stay below `root`. Ends early when there is `enough`."""
    chance, begin, testbed = random.Random(seed), time.time(), Testbed(root)
    struck: list[Fault] = []
    result: dict[str, Any] = {"seed": seed, "faults": [], "audit": {}, "stuck": ""}
    try:
        if not testbed.await_(testbed.delivered, STUCK):
            raise Stuck(f"not every query has delivered rows in {STUCK:.0f} s: {reports(testbed.lives())}")
        strike(testbed, faults, kinds, chance, struck, tell, enough)
        for replayer in testbed.replayers:
            replayer.finish.set()
        if not testbed.await_(testbed.finished, STUCK):
            raise Stuck(f"not at the end {STUCK:.0f} s after that of the sources: {reports(testbed.lives())}")
    except Stuck as error:
        result["stuck"] = str(error)
    finally:
        testbed.stop()
    result["faults"] = [dataclasses.asdict(fault) for fault in struck]
    result["seconds"] = round(time.time() - begin, 1)
    for name, verdict in testbed.verdicts().items():
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
    struck: list[Fault],
    tell: Callable[[Fault], None],
    enough: Callable[[], bool],
) -> None:
    """So many, several at a time; a fragment gets its next one when it has done a batch after the last.
    Appends each to `struck` when it is over. Raises Stuck."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        active: dict[Future[None], Fault] = {}
        deck: list[str] = []  # each kind once, so that the quick ones are no more than the others
        while active or (len(struck) < faults and not enough()):
            taken = {KINDS[fault.kind].alone for fault in active.values()} - {""}
            if "controller" not in taken:
                testbed.supervise()
            deck = deck or chance.sample(kinds, len(kinds))
            if len(active) < SIDE_BY_SIDE and len(struck) + len(active) < faults and not enough():
                busy = {fault.fragment for fault in active.values()}
                lives = [life for life in testbed.lives() if life.fragment not in busy]
                fault = draw(lives, chance, deck, taken)
                if fault:
                    own = random.Random(chance.random())
                    active[pool.submit(befall, testbed, fault, own)] = fault
            over, _ = wait(active, timeout=chance.uniform(0.1, 2.0), return_when=FIRST_COMPLETED)
            for future in over:
                fault = active.pop(future)
                future.result()
                struck.append(fault)
                tell(fault)


def draw(lives: list[Life], chance: random.Random, deck: list[str], taken: set[str]) -> Fault | None:
    """The next fault of the deck that one of these processes can have, and that takes none of the testbed's
    parts that are `taken`."""
    for kind in deck:
        fitting = [life for life in lives if life.query in KINDS[kind].hits]
        if fitting and KINDS[kind].alone not in taken:
            deck.remove(kind)
            aim = KINDS[kind].on_batches and chance.random() < AIMED
            return Fault(kind, chance.choice(fitting).fragment, chance.choice(IN_A_BATCH) if aim else "")
    return None


def befall(testbed: Testbed, fault: Fault, chance: random.Random) -> None:
    """One fault from its aim until its fragment has done a batch after it. Raises Stuck."""
    kind = KINDS[fault.kind]
    life = testbed.life(fault.fragment)
    if life is None:
        raise Stuck(f"{fault.fragment}: no process to strike")
    held = bool(fault.aimed) and hold(testbed, life, fault.aimed)
    before = life.in_a_batch
    begin = time.monotonic()
    with kind.strike(testbed, life, chance):
        fault.in_batch = kind.on_batches and before and (life.in_a_batch or not life.checkpoints.exists())
        if held and not kind.about_the_process:
            life.signal(signal.SIGCONT, session=False)
        time.sleep(chance.uniform(*kind.lasts))
    over = time.monotonic()
    fault.seconds = round(over - begin, 1)
    planned = -2

    def goes_on() -> bool:
        nonlocal planned
        now = testbed.life(fault.fragment)
        if now and planned < -1:
            planned = now.planned
        return now is not None and now.committed > planned

    if not testbed.await_(goes_on, STUCK, supervised=False):
        now = testbed.life(fault.fragment)
        raise Stuck(f"{fault.fragment}: {STUCK:.0f} s after {fault.kind}: {reports([now] if now else [])}")
    fault.recovery = round(time.monotonic() - over, 1)


def hold(testbed: Testbed, life: Life, point: str) -> bool:
    """Whether the process stands at the point."""
    wish = testbed.holds / str(life.pid)
    temporary = testbed.holds / f".{life.pid}"
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


def reports(lives: list[Life]) -> str:
    """Each process's phase and error."""
    return "; ".join(
        f"{life.fragment}: {life.report.get('phase')} {life.report.get('error')}" for life in lives
    )
