"""When most nodes fall silent at once, the way to them is broken, not they: then nothing is moved.

The rule of Kubernetes' node controller, which stops evictions then (`--unhealthy-zone-threshold`, 55 %).
"""

from __future__ import annotations

from dataclasses import replace

from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.observed_state import ObservedState, Process
from weir_operator.controller.settings import Settings

NAMED = 5
"""So many silent nodes are named in a message."""
SHARE = 0.55
FEW = 2
"""So many silent nodes are believed to be so, unless they are all."""


def silent_nodes(observed: ObservedState, desired: DesiredState) -> frozenset[str]:
    """Nodes that are there and not heard of: not ready, or none of their drivers renews its lease."""
    renewing = {process.node for process in observed.processes if process.state == "running"}
    silent = {process.node for process in observed.processes if process.silent}
    return (desired.not_ready | (silent - renewing)) & desired.nodes


def most_are_silent(silent: int, nodes: int) -> bool:
    """
    >>> most_are_silent(2, 3), most_are_silent(3, 4), most_are_silent(5, 10), most_are_silent(1, 1)
    (False, True, False, True)
    """
    return silent > 0 and (silent == nodes or (silent > FEW and silent > SHARE * nodes))


def why_nothing_moves(observed: ObservedState, desired: DesiredState) -> str:
    """Empty while nodes are heard of as usual."""
    silent, nodes = sorted(silent_nodes(observed, desired)), len(desired.nodes)
    if not most_are_silent(len(silent), nodes):
        return ""
    names = ", ".join(silent[:NAMED]) + (", ..." if len(silent) > NAMED else "")
    return f"{len(silent)} of {nodes} nodes are silent ({names}): nothing moves until they answer again"


def without_moves(
    observed: ObservedState, desired: DesiredState, settings: Settings
) -> tuple[ObservedState, DesiredState, Settings]:
    """What a round sees when nothing is to move: no node has to be left except those that were deleted."""

    def stays(process: Process) -> Process:
        return replace(process, no_room=False) if process.silent else process

    staying = replace(observed, processes=tuple(map(stays, observed.processes)))
    lost = desired.lost - desired.not_ready
    still = replace(desired, lost=lost, cordoned=frozenset(), closed={})
    return staying, still, replace(settings, concurrent_moves=0)
