"""What the loop is told when it is built: times, limits, where things lie."""

from __future__ import annotations

from dataclasses import dataclass

from weir_placement.fragments import Layout


@dataclass(frozen=True)
class Settings:
    """Seconds, unless a comment says otherwise."""

    layout: Layout
    image: str = ""  # of processes whose policy names none: with another one they move, where they are
    node_grace: float = 40.0  # a node that is not ready for so long is lost
    pending_grace: float = 30.0  # a process that finds no room for so long: its node is full
    reference_grace: float = 120.0  # a missing reference stalls a query after that
    concurrent_moves: int = 1  # warm standbys at a time; more are started only when nodes are lost
    period: float = 5.0  # look again at least that often
    status_period: float = 60.0  # a status whose numbers alone changed is written no oftener
    look_period: float = 10.0  # a better plan is looked for no oftener
    sweep_period: float = 60.0  # left-over flows and checkpoints are removed no oftener
    change_lead: float = 20.0  # how long an edited query's old plan goes on: the new one starts meanwhile
    standby: bool = True  # false: moves are cold (stop, then start), for comparison

    def first_round_of(self, span: float, now: float) -> bool:
        """Whether this is the first round in a slot of `span` seconds: so that it needs no memory."""
        return now % span < self.period
