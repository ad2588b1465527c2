"""Parameters of the loop: times, limits, where files lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weir_placement.fragments import Layout


@dataclass(frozen=True)
class Settings:
    """Seconds, unless a comment says otherwise."""

    layout: Layout
    image: str = ""  # of processes whose policy names none: a new one replaces them on the same nodes
    node_grace: float = 40.0  # a node that is not ready for this long is lost
    pending_grace: float = 30.0  # a node on which a process finds no room for this long is full
    reference_grace: float = 120.0  # a reference that is missing for this long stalls a query
    concurrent_moves: int = 10  # warm standbys of all policies at a time, but for nodes that are left
    longest_planning: float = 60.0  # of one policy in one round, whatever its timeLimit: all others wait
    alive: Callable[[], None] = lambda: None  # called while a round goes on
    period: float = 5.0  # longest time between two rounds
    status_period: float = 60.0  # shortest time between writes of a status of which only numbers changed
    look_period: float = 10.0  # shortest time between searches for a better plan
    sweep_period: float = 60.0  # shortest time between removals of leftover flows and checkpoints
    change_lead: float = 20.0  # how long an edited query's old plan goes on while the new one starts
    standby: bool = True  # false: moves are cold (stop, then start), for comparison

    def first_round_of(self, span: float, now: float) -> bool:
        """Whether this is the first round in a slot of `span` seconds; this way no memory is needed."""
        return now % span < self.period
