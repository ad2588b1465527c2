"""How a running query goes over to another plan: what controller and fragment agree on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """How a plan is left for one with other operators; kept in the lease of the fragment that delivers. In
    those of the others stands, as `time`, after which event time [us] nobody needs their rows.

    Attributes:
        lead: set by the controller: how long [s] the plan goes on before the cut.
        time: agreed by the holder, once and for ever: the cut T [us]. From then on it publishes only rows
            up to T, and it has published none later. None: not agreed yet.
        passed: the holder has published every row up to T.
    """

    lead: float = 0.0
    time: int | None = None
    passed: bool = False
