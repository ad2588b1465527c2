"""Carries messages between agents and counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

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
        envelopes: sendings, when what one node has for another at the same time goes together.
        modification_sizes: [bytes] of each message that modifies the plan, headers included.
        migration_sizes: [bytes] of each message of the migration.
        windows: (stream, sender, receiver) of each window that is copied.
        elapsed: [s], until the last message has come.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    envelopes: int = 0
    modification_sizes: list[int] = field(default_factory=list)
    migration_sizes: list[int] = field(default_factory=list)
    windows: list[tuple[int, int, int]] = field(default_factory=list)
    elapsed: float = 0.0

    @property
    def modification(self) -> int:
        """See above."""
        return len(self.modification_sizes)

    @property
    def migration(self) -> int:
        """See above."""
        return len(self.migration_sizes)

    @property
    def synchronisation(self) -> int:
        """See above."""
        return self.migration - self.kinds["WindowRequest"]

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
        self.kinds[type(body).__name__] += 1
        if isinstance(body, MODIFICATION):
            self.modification_sizes.append(message_bytes(body))
        if isinstance(body, MIGRATION):
            self.migration_sizes.append(message_bytes(body))


def message_bytes(body: object) -> int:
    """[bytes] on a link: 8 for each number, and the headers."""
    return HEADER_BYTES + NUMBER_BYTES * numbers(body)


def alike(letter: Letter) -> float:
    """Every message takes as long as any other, so that time is counted in rounds."""
    return 1.0


def deliver(
    agents: Sequence[Agent], letters: Sequence[Letter], seconds: Callable[[Letter], float] = alike
) -> Traffic:
    """Delivers in the order of arrival until no message is on its way.

    Args:
        agents: node k at index k.
        letters: what is sent first.
        seconds: [s], how long a message takes to its receiver.
    """
    traffic = Traffic()
    waiting: list[tuple[float, int, Letter]] = []
    number = 0

    def send(now: float, sent: Sequence[Letter]) -> None:
        nonlocal number
        between = [letter for letter in sent if letter.sender != letter.receiver]
        traffic.envelopes += len({(letter.sender, letter.receiver) for letter in between})
        for letter in sent:
            number += 1
            itself = letter.sender == letter.receiver
            heappush(waiting, (now if itself else now + seconds(letter), number, letter))
        for letter in between:
            traffic.add(letter)

    send(0.0, letters)
    while waiting:
        now = traffic.elapsed = waiting[0][0]
        answers: list[Letter] = []
        # All that comes at one time is answered before anything is sent, so that answers may go together.
        while waiting and waiting[0][0] == now:
            letter = heappop(waiting)[2]
            for answer in agents[letter.receiver].receive(letter):
                if answer.sender == answer.receiver:
                    number += 1
                    heappush(waiting, (now, number, answer))
                else:
                    answers.append(answer)
        send(now, answers)
    return traffic
