"""Carries messages between agents in rounds and counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from weir_placement.joins.agent import Agent
from weir_placement.joins.messages import MIGRATION, MODIFICATION, Letter, WindowContent, numbers

NUMBER_BYTES = 8
HEADER_BYTES = 40
"""TCP and IP without options."""


@dataclass
class Traffic:
    """What went over links; messages of a node to itself are not in it.

    Attributes:
        kinds: messages by the name of their kind.
        modification: messages that modify the plan.
        migration: requests for windows and synchronisation.
        synchronisation: of these, Prepare, LocalReady and GlobalReady.
        envelopes: sendings when messages of one round from one node to another go together.
        sizes: [bytes] of each message, headers included.
        windows: (stream, sender, receiver) of each window that is copied.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    modification: int = 0
    migration: int = 0
    synchronisation: int = 0
    envelopes: int = 0
    sizes: list[int] = field(default_factory=list)
    windows: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Modification and migration, as table 3 counts them."""
        return self.modification + self.migration

    def add(self, letter: Letter) -> None:
        """Counts one message."""
        body = letter.body
        if isinstance(body, WindowContent):
            self.windows.append((body.stream, letter.sender, letter.receiver))
            return
        name = type(body).__name__
        self.kinds[name] += 1
        self.modification += isinstance(body, MODIFICATION)
        self.migration += isinstance(body, MIGRATION)
        self.synchronisation += isinstance(body, MIGRATION) and name != "WindowRequest"
        self.sizes.append(HEADER_BYTES + NUMBER_BYTES * numbers(body))


def deliver(agents: Sequence[Agent], letters: list[Letter], shuffle: Random | None = None) -> Traffic:
    """Delivers until no message is on its way, round by round or in random order.

    Args:
        agents: node k at index k.
        letters: what is sent first; taken over.
        shuffle: draws the next message to deliver; without it a round is delivered, then what it caused.
    """
    traffic = Traffic()
    waiting = letters
    while waiting:
        current = [waiting.pop(shuffle.randrange(len(waiting)))] if shuffle else waiting
        waiting = waiting if shuffle else []
        pairs = set()
        while current:
            letter = current.pop(0)
            if letter.sender != letter.receiver:
                traffic.add(letter)
                pairs.add((letter.sender, letter.receiver))
            answers = agents[letter.receiver].receive(letter)
            # What a node says to itself needs no link and no round.
            current += [a for a in answers if a.receiver == a.sender]
            waiting += [a for a in answers if a.receiver != a.sender]
        traffic.envelopes += len(pairs)
    return traffic
